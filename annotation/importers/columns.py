"""What the columns of a plain table are called, and the candidates that a row names in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase

from annotation.importers import files
from annotation.importers.cells import Cells
from annotation.importers.records import Audio, CandidateRecord, RowProblem
from annotation.protocols import Protocol

ITEM_TEXTS = {
    "prompt": "prompt",
    "lyrics": "lyrics",
    "question_text": "question",
    "reference": "reference",
    "rationale": "rationale",
    "transcript": "transcript",
}
SINGLE = ("system", "answer", "audio")
LETTERED = tuple(f"{name}_{letter}" for letter in ascii_lowercase for name in SINGLE)
_LETTERED = frozenset(LETTERED)
ANSWERS = ("rater_id", "question", "candidate", "value", "confidence", "codes", "comment")
FIELDS = ("item_id", *ITEM_TEXTS, *SINGLE, *LETTERED, "item_audio", "reference_audio", *ANSWERS)
UNNAMED = "unnamed"
STRATUM = re.compile(r"stratum\.(\w{1,40})\Z")


@dataclass(frozen=True)
class Named:
    """What a row names: audio by column, and its candidates in the order of their columns."""

    audio: Mapping[str, Audio]
    candidates: tuple[CandidateRecord, ...]


def letters(protocol: Protocol) -> str:
    """The letters that a protocol's candidates can have in a table; none where there is only one."""
    if protocol.layout == "rating":
        return ""
    return ascii_lowercase[: protocol.candidates[1] - len(protocol.added)]


def sides(cells: Cells, protocol: Protocol) -> list[str]:
    """The ends of the columns that name this row's candidates. Panels may leave out letters."""
    if protocol.layout == "rating":
        return [""]
    every = [f"_{letter}" for letter in letters(protocol)]
    if protocol.layout != "panel":
        return every
    return [side for side in every if any(cells[f"{name}{side}"] for name in SINGLE)]


def named(cells: Cells, protocol: Protocol, folder: Path) -> Named | list[RowProblem]:
    """Candidates and audio files, or every fault of them."""
    ends = sides(cells, protocol)
    columns = ("reference_audio", "item_audio", *dict.fromkeys(["audio", *(f"audio{end}" for end in ends)]))
    found = {name: _sound(cells, name, folder) for name in columns if cells[name]}
    sounds = {name: sound for name, sound in found.items() if not isinstance(sound, RowProblem)}
    if protocol.candidate == "text" and "audio" in sounds:
        sounds["item_audio"] = sounds.pop("audio")  # texts are judged: the audio is what they are about
    problems = [sound for sound in found.values() if isinstance(sound, RowProblem)]
    problems += _too_few_or_many(cells, protocol, len(ends))
    for end in ends:
        problems += _missing(cells, protocol, end, has_audio=f"audio{end}" in found)
    if problems:
        return problems
    audio = {name: sounds.get(f"audio{name}") for name in ends}
    shown = [
        CandidateRecord(_system(cells, end), cells[f"answer{end}"], audio[end], column=f"audio{end}")
        for end in ends
    ]
    doubled = [end for place, end in enumerate(ends) if shown[place] in shown[:place]]
    if protocol.layout == "panel" and doubled:
        remedy = "Name every candidate of a row once."
        return [cells.problem(f"system{doubled[0]}", "is the same candidate as one before it", remedy)]
    return Named(sounds, tuple(shown))


def _sound(cells: Cells, name: str, folder: Path) -> Audio | RowProblem:
    return cells.sound(name) or files.sound(folder, cells[name], row=cells.row, field=name)


def _system(cells: Cells, end: str) -> str:
    """What made a candidate. Where no column of a table says it of any, the letters of the columns are names enough."""
    if named := cells[f"system{end}"]:
        return named
    if any(name.startswith("system") for name in cells.values):
        return ""
    return end.lstrip("_").upper() or UNNAMED


def _too_few_or_many(cells: Cells, protocol: Protocol, n: int) -> list[RowProblem]:
    added = len(protocol.added)
    least, most = (max(1, bound - added) for bound in protocol.candidates)
    known = letters(protocol)
    beyond = [name for name in cells.values if name in _LETTERED and name[-1] not in known and cells[name]]
    if protocol.layout == "panel" and beyond:
        also = f", besides the {added} that an import adds" if added else ""
        remedy = f"Name at most {most}, from system_a on{also}."
        return [cells.problem(beyond[0], "is one candidate too many", remedy)]
    if n < least:
        remedy = f"Name {least} in system_a and what follows."
        return [cells.problem("system_a", f"there are {n} candidates", remedy)]
    return []


def _missing(cells: Cells, protocol: Protocol, end: str, *, has_audio: bool) -> list[RowProblem]:
    problems = []
    if not _system(cells, end):
        remedy = "Name what made the candidate; raters never see it."
        problems.append(cells.problem(f"system{end}", "is missing", remedy))
    if protocol.candidate == "clip" and not has_audio:
        remedy = "Name the clip's file, relative to the source."
        problems.append(cells.problem(f"audio{end}", "is missing", remedy))
    return problems
