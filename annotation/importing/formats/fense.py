"""The layout of FENSE's comparisons (arXiv 2110.04684): JSON lists of clips, captions of each in pairs, votes on each.

    [{"raw_name": "x.wav", "references": ["…"], "HC": ["caption 0", "caption 1", "source 0", "source 1", [1, 0, -1, 1]],
      "HI": […], "HM": […], "MM_1": […], …}]

A vote is 1 for caption 0, -1 for caption 1, 0 for neither; it is the last element, with a stray one before it in some
pairs. Votes come from people who are not named. An item is a clip in one category, because results are told by
category: two captions of people who heard the clip (HC), one of them of another clip (HI), a person's and a machine's
(HM), two machines' (MM). Sources that number captions are taken together as the systems that they come from.

Clips are named by `raw_name`, or by `audio_id` where there is none. The release has no sounds: when one of them lies
beside the file, all must. `audio` may name a clip's sound where it is called something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from annotation.importing.formats import json_files, source_files
from annotation.importing.records import (
    AnswerRecord,
    CandidateRecord,
    ItemRecord,
    JudgmentRecord,
    RowProblem,
    TaskRecord,
    task_name,
)
from annotation.protocols import Protocol
from annotation.rating.rules.answers import FIRST, SECOND, TIE

QUESTION = "better"
CATEGORY = re.compile(r"(HC|HI|HM|MM)(?:_\d+)?\Z")
CHOICES = {1: FIRST, -1: SECOND, 0: TIE}
# How the two sets name what a person wrote: of this clip, or of another one.
HUMAN = re.compile(r"(?:ground_t|human)_\d+\Z")
OF_A_CLIP = re.compile(r"([0-9a-f]{32})_human_\d+\Z")
OF_ANOTHER = re.compile(r"idx\d+\Z")
# A caption of the training set that is nearest to the clip.
NEAREST = re.compile(r"(?:cos_sim_\d+|nn)\Z")
LAYOUT = "Use the released layout."


def read(
    source: Path, protocol: Protocol, column_map: Mapping[str, str]
) -> Iterator[TaskRecord | RowProblem]:
    """Records of one JSON file, or of every *.json of a folder."""
    paths = sorted(source.glob("*.json")) if source.is_dir() else [source]
    if not paths:
        remedy = "Name a folder with the released files, or one file."
        yield RowProblem("", "", f"{source} holds no .json file", remedy)
    if protocol.question(QUESTION) is None:
        yield RowProblem("", QUESTION, "is not asked by the study's protocol", "Use the fense protocol.")
        return
    for path in paths:
        named = (_sound(clip) for _, clip in _clips(path) if isinstance(clip, dict))
        folder = path.parent if source_files.any_audio_present(path.parent, filter(None, named)) else None
        for row, clip in _clips(path):
            if isinstance(clip, RowProblem):
                yield clip
            elif isinstance(clip, dict):
                yield from _clip(row, clip, folder, stratum=path.stem.removesuffix("_eval"))
            else:
                yield RowProblem(row, "", "is not an object", LAYOUT)


def _clips(path: Path) -> Iterator[tuple[str, Any]]:
    for number, entry in enumerate(json_files.stream_entries(path, opens="["), 1):
        yield f"{path.name} #{number}", entry if isinstance(entry, RowProblem) else entry[1]


def _name(clip: dict[str, Any]) -> str:
    return str(clip.get("raw_name") or clip.get("audio_id") or "")


def _sound(clip: dict[str, Any]) -> str:
    name = _name(clip)
    return str(clip.get("audio") or (name if clip.get("raw_name") or not name else f"{name}.wav"))


def _clip(
    row: str, clip: dict[str, Any], folder: Path | None, *, stratum: str
) -> Iterator[TaskRecord | RowProblem]:
    """`folder` is where the sounds are; None where there are none."""
    name, references = _name(clip), clip.get("references") or []
    if not name:
        yield RowProblem(row, "raw_name", "is missing", "Name the clip by raw_name or audio_id.")
        return
    if not isinstance(references, list) or not all(isinstance(text, str) for text in references):
        yield RowProblem(row, "references", "are not a list of texts", LAYOUT)
        return
    audio = source_files.resolve_audio(folder, _sound(clip), row=row, field="audio") if folder else None
    if isinstance(audio, RowProblem):
        yield audio
        return
    for key, pair in clip.items():
        match = CATEGORY.match(key)
        if match is None or pair is None:
            continue
        votes, problems = _votes(row, key, pair)
        yield from problems
        if problems:
            continue
        first, second, *sources = pair[:4]
        texts, strata = {"reference": "\n".join(references)}, {"category": match[1], "set": stratum}
        systems = [_system(source, name) for source in sources]
        yield TaskRecord(
            row=f"{row} {key}",
            external_id=task_name(f"{name} {key}", sources),
            item=ItemRecord(f"{name} {match[1]}", texts, audio=audio, strata=strata),
            candidates=(CandidateRecord(systems[0], text=first), CandidateRecord(systems[1], text=second)),
            judgments=votes,
        )


def _system(source: str, clip: str) -> str:
    if HUMAN.match(source):
        return "human"
    if match := OF_A_CLIP.match(source):
        return "human" if match[1] == PurePosixPath(clip).stem else "human, of another clip"
    if OF_ANOTHER.match(source):
        return "human, of another clip"
    return "nearest caption" if NEAREST.match(source) else source


def _votes(row: str, key: str, pair: Any) -> tuple[list[JudgmentRecord], list[RowProblem]]:
    """One judgment per vote, of somebody unnamed; in which order they saw the captions is not known."""
    whole = isinstance(pair, list) and len(pair) >= 5 and isinstance(pair[-1], list)
    if not whole or not all(isinstance(text, str) and text.strip() for text in pair[:4]):
        problem = "is not two captions, their two sources and a list of votes"
        return [], [RowProblem(row, key, problem, LAYOUT)]
    votes, problems = [], []
    for place, vote in enumerate(pair[-1]):
        if isinstance(vote, bool) or not isinstance(vote, int) or vote not in CHOICES:
            problem = f"{vote!r} is not a vote"
            remedy = "Use 1 for the first caption, -1 for the second, 0 for neither."
            problems.append(RowProblem(row, f"{key}[{place}]", problem, remedy))
        else:
            answer = AnswerRecord(QUESTION, choice=CHOICES[vote])
            votes.append(JudgmentRecord(f"#{place}", f"{row} {key}", answers=(answer,)))
    return votes, problems
