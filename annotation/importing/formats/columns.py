"""Columns of the plain table: names, synonyms, and the parsing of cells, answers and candidates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from annotation.importing.formats import source_files
from annotation.importing.records import AnswerRecord, Audio, CandidateRecord, RowProblem
from annotation.protocols import Protocol, QuestionSpec
from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE

# Cells and answers of one row

UNSUPPORTED_TYPES: dict[type, str] = {list: "a list", dict: "an object", bytes: "bytes"}
# Beyond it a float stands for many whole numbers.
MAX_EXACT_INTEGER = 2.0**53


def read_cell(row: str, column: str, value: Any) -> str | Audio | RowProblem:
    """What a value says: a text, or the sound that a reader has made of it. Lists and objects say neither."""
    if value is None:
        return ""
    if isinstance(value, Audio):
        return value
    if kind := UNSUPPORTED_TYPES.get(type(value)):
        remedy = f'Write a text or a number, or leave the column out (--map "{column}=").'
        return RowProblem(row, column, f"holds {kind}", remedy)
    if isinstance(value, float):
        return _format_float(row, column, value)
    return str(value).strip()


def _format_float(row: str, column: str, value: float) -> str | RowProblem:
    """Ids that are numbers become floats wherever a column of them has a gap: 7.0 is still the id 7."""
    if not math.isfinite(value):
        remedy = "Write a number, or null where there is none."
        return RowProblem(row, column, f"holds {'NaN' if math.isnan(value) else value}", remedy)
    return str(int(value) if value.is_integer() and abs(value) <= MAX_EXACT_INTEGER else value)


@dataclass(frozen=True)
class Cells:
    """One row's values by field name; what is not there is empty. Columns of audio may hold sounds at hand."""

    row: str
    values: Mapping[str, str | Audio]

    def __getitem__(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else value.name

    def sound(self, name: str) -> Audio | None:
        value = self.values.get(name, "")
        return None if isinstance(value, str) else value

    def problem(self, name: str, problem: str, remedy: str) -> RowProblem:
        return RowProblem(self.row, name, problem, remedy)


def read_answer(
    cells: Cells, protocol: Protocol, order: list[int], *, sides: Sequence[str]
) -> tuple[AnswerRecord | None, list[RowProblem]]:
    """The row's answer in the task's own terms; None where only codes or a comment are given.

    `order` holds the places of the row's candidates by slot, `sides` the letters of their columns by place.
    """
    if not cells["question"] and not cells["value"]:
        return None, []
    question = protocol.question(cells["question"])
    if question is None:
        known = ", ".join(spec.key for spec in protocol.questions)
        return None, [
            cells.problem("question", f"{cells['question']!r} is not asked here", f"Use one of {known}.")
        ]
    confidence, problems = _read_confidence(cells, question)
    slot, faults = _read_slot(cells, question, order, sides)
    problems += faults
    if question.kind == "text":
        return AnswerRecord(question.key, text=cells["value"], slot=slot), problems
    if question.kind == "preference":
        choice = _parse_preference(cells["value"], order)
        if choice is None:
            problems.append(
                cells.problem(
                    "value", f"{cells['value']!r} is not a preference", "Use A, B, tie or both_bad."
                )
            )
        return AnswerRecord(question.key, choice=choice, confidence=confidence), problems
    value, faults = _read_value(cells, question)
    return AnswerRecord(question.key, value=value, confidence=confidence, slot=slot), problems + faults


def _read_slot(
    cells: Cells, question: QuestionSpec, order: list[int], sides: Sequence[str]
) -> tuple[int | None, list[RowProblem]]:
    """Which candidate a question that is asked of each is answered for."""
    letter = cells["candidate"].lower()
    if not question.per_candidate:
        if not letter:
            return None, []
        remedy = f"Leave the cell empty: {question.key} is asked once for the task."
        return None, [cells.problem("candidate", "is not asked for", remedy)]
    if len(order) == 1 and not letter:
        return 0, []
    if letter in sides:
        return order.index(sides.index(letter)), []
    remedy = f"Use the letter of its columns: {', '.join(filter(None, sides))}."
    return None, [cells.problem("candidate", f"{letter!r} is not a candidate of this row", remedy)]


def read_codes(cells: Cells, protocol: Protocol) -> tuple[tuple[str, ...], list[RowProblem]]:
    """Feedback codes, separated by blanks, commas or semicolons."""
    codes = sorted({code for code in re.split(r"[\s,;]+", cells["codes"]) if code})
    known = protocol.code_keys
    problems = [
        cells.problem(
            "codes",
            f"{code!r} is not one of the codes {', '.join(known) or '(this protocol has none)'}",
            "Mend the code.",
        )
        for code in codes
        if code not in known
    ]
    return tuple(codes), problems


def _parse_preference(answer: str, order: list[int]) -> int | None:
    match answer.strip().lower():
        case "a":
            return FIRST if order[0] == 0 else SECOND
        case "b":
            return FIRST if order[0] == 1 else SECOND
        case "tie":
            return TIE
        case "both_bad":
            return BOTH_BAD
        case _:
            return None


def _read_value(cells: Cells, question: QuestionSpec) -> tuple[float | None, list[RowProblem]]:
    scale = (
        ", ".join(f"{value:g}" for value in question.values)
        or f"{question.minimum:g} to {question.maximum:g}"
    )
    value = _parse_number(cells["value"])
    low, high = question.minimum, question.maximum
    inside = value is not None and (low is None or value >= low) and (high is None or value <= high)
    if value is None or (question.values and value not in question.values) or not inside:
        return None, [
            cells.problem("value", f"{cells['value']!r} is not on the scale {scale}", "Mend the value.")
        ]
    return value, []


def _read_confidence(cells: Cells, question: QuestionSpec) -> tuple[float | None, list[RowProblem]]:
    if not cells["confidence"]:
        return None, []
    if question.confidence is None:
        return None, [
            cells.problem("confidence", f"is not asked with {question.key}", "Leave the cell empty.")
        ]
    low, high = question.confidence.values[0], question.confidence.values[-1]
    value = _parse_number(cells["confidence"])
    if value is None or not low <= value <= high:
        return None, [
            cells.problem(
                "confidence", f"{cells['confidence']!r} is not {low:g} to {high:g}", "Mend the confidence."
            )
        ]
    return value, []


def _parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < 1e300 else None


ITEM_TEXTS = {
    "prompt": "prompt",
    "lyrics": "lyrics",
    "question_text": "question",
    "reference": "reference",
    "rationale": "rationale",
    "transcript": "transcript",
}
CANDIDATE_FIELDS = ("system", "answer", "audio")
LETTERED_FIELDS = tuple(f"{name}_{letter}" for letter in ascii_lowercase for name in CANDIDATE_FIELDS)
_LETTERED_SET = frozenset(LETTERED_FIELDS)
ANSWER_FIELDS = ("rater_id", "question", "candidate", "value", "confidence", "codes", "comment")
FIELDS = (
    "item_id",
    *ITEM_TEXTS,
    *CANDIDATE_FIELDS,
    *LETTERED_FIELDS,
    "item_audio",
    "reference_audio",
    *ANSWER_FIELDS,
)
UNNAMED_SYSTEM = "unnamed"
STRATUM_COLUMN = re.compile(r"stratum\.(\w{1,40})\Z")


@dataclass(frozen=True)
class RowCandidates:
    """What a row names: audio by column, and its candidates in the order of their columns."""

    audio: Mapping[str, Audio]
    candidates: tuple[CandidateRecord, ...]


def candidate_letters(protocol: Protocol) -> str:
    """The letters that a protocol's candidates can have in a table; none where there is only one."""
    if protocol.layout == "rating":
        return ""
    return ascii_lowercase[: protocol.candidates[1] - len(protocol.added)]


def candidate_suffixes(cells: Cells, protocol: Protocol) -> list[str]:
    """The ends of the columns that name this row's candidates. Panels may leave out letters."""
    if protocol.layout == "rating":
        return [""]
    every = [f"_{letter}" for letter in candidate_letters(protocol)]
    if protocol.layout != "panel":
        return every
    return [side for side in every if any(cells[f"{name}{side}"] for name in CANDIDATE_FIELDS)]


def read_candidates(cells: Cells, protocol: Protocol, folder: Path) -> RowCandidates | list[RowProblem]:
    """Candidates and audio files, or every fault of them."""
    ends = candidate_suffixes(cells, protocol)
    columns = ("reference_audio", "item_audio", *dict.fromkeys(["audio", *(f"audio{end}" for end in ends)]))
    resolved = {name: _read_audio(cells, name, folder) for name in columns if cells[name]}
    sounds = {name: sound for name, sound in resolved.items() if not isinstance(sound, RowProblem)}
    if protocol.candidate == "text" and "audio" in sounds:
        sounds["item_audio"] = sounds.pop("audio")  # texts are judged: the audio is what they are about
    problems = [sound for sound in resolved.values() if isinstance(sound, RowProblem)]
    problems += _candidate_count_problems(cells, protocol, len(ends))
    for end in ends:
        problems += _missing_candidate_problems(cells, protocol, end, has_audio=f"audio{end}" in resolved)
    if problems:
        return problems
    audio = {name: sounds.get(f"audio{name}") for name in ends}
    candidates = [
        CandidateRecord(_system_name(cells, end), cells[f"answer{end}"], audio[end], column=f"audio{end}")
        for end in ends
    ]
    doubled = [end for place, end in enumerate(ends) if candidates[place] in candidates[:place]]
    if protocol.layout == "panel" and doubled:
        remedy = "Name every candidate of a row once."
        return [cells.problem(f"system{doubled[0]}", "is the same candidate as one before it", remedy)]
    return RowCandidates(sounds, tuple(candidates))


def _read_audio(cells: Cells, name: str, folder: Path) -> Audio | RowProblem:
    return cells.sound(name) or source_files.resolve_audio(folder, cells[name], row=cells.row, field=name)


def _system_name(cells: Cells, end: str) -> str:
    """What made a candidate. Where no column of a table says it of any, the letters of the columns are names enough."""
    if named := cells[f"system{end}"]:
        return named
    if any(name.startswith("system") for name in cells.values):
        return ""
    return end.lstrip("_").upper() or UNNAMED_SYSTEM


def _candidate_count_problems(cells: Cells, protocol: Protocol, n: int) -> list[RowProblem]:
    added = len(protocol.added)
    least, most = (max(1, bound - added) for bound in protocol.candidates)
    known = candidate_letters(protocol)
    beyond = [
        name for name in cells.values if name in _LETTERED_SET and name[-1] not in known and cells[name]
    ]
    if protocol.layout == "panel" and beyond:
        also = f", besides the {added} that an import adds" if added else ""
        remedy = f"Name at most {most}, from system_a on{also}."
        return [cells.problem(beyond[0], "is one candidate too many", remedy)]
    if n < least:
        remedy = f"Name {least} in system_a and what follows."
        return [cells.problem("system_a", f"there are {n} candidates", remedy)]
    return []


def _missing_candidate_problems(
    cells: Cells, protocol: Protocol, end: str, *, has_audio: bool
) -> list[RowProblem]:
    problems = []
    if not _system_name(cells, end):
        remedy = "Name what made the candidate; raters never see it."
        problems.append(cells.problem(f"system{end}", "is missing", remedy))
    if protocol.candidate == "clip" and not has_audio:
        remedy = "Name the clip's file, relative to the source."
        problems.append(cells.problem(f"audio{end}", "is missing", remedy))
    return problems


# Suggested fields of columns, by name and type

# Other names of our fields, in the order of their likelihood; exact names come before all of them.
FIELD_SYNONYMS: dict[str, tuple[str, ...]] = {
    "item_id": ("id", "item", "prompt_id", "sample_id", "clip_id", "example_id", "uid", "key", "track_id"),
    "prompt": ("caption", "text", "text_prompt", "description", "instruction", "prompt_text"),
    "lyrics": ("lyric",),
    "question_text": ("query", "question_asked"),
    "reference": ("reference_answer", "ground_truth", "gold_answer", "gold", "target"),
    "rationale": ("explanation", "reasoning"),
    "transcript": ("transcription",),
    "reference_audio": ("ref_audio", "ref_audio_path", "reference_clip", "reference_file"),
    "rater_id": (
        "rater", "annotator", "annotator_id", "worker", "worker_id", "workerid", "user", "user_id", "username",
        "listener", "listener_id", "participant", "participant_id", "subject_id", "judge",
    ),
    "value": (
        "rating", "score", "vote", "preference", "preferred", "winner", "choice", "label", "judgment", "mos",
    ),
    "confidence": ("certainty",),
    "codes": ("feedback_codes",),
    "comment": ("comments", "remark", "remarks", "feedback", "note", "notes"),
    "system": ("model", "model_name", "system_name", "generator", "method", "condition"),
}  # fmt: skip
AUDIO_SYNONYMS = (
    *("clip", "file", "file_name", "filename", "path", "wav", "sound", "url"),
    *("audio_path", "audio_file", "audio_url", "audio_filepath", "audio_filename"),
)
ANSWER_SYNONYMS = ("response", "output", "prediction", "hypothesis", "completion", "candidate_answer")
# What the two sides of a comparison are called, and where the side stands in a column's name.
SIDE_SYNONYMS = {"a": ("a", "1", "left", "first", "chosen"), "b": ("b", "2", "right", "second", "rejected")}
STRATUM_NAMES = ("split", "category", "genre", "modality", "difficulty", "language", "dataset")


def suggest_fields(columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """A field for each column, "" where none suggests itself. No field is suggested twice."""
    suggested = {column: column for column in columns if column in FIELDS or STRATUM_COLUMN.match(column)}
    for column in columns:
        for field in _matching_fields(_normalize_name(column), sounds=types.get(column) == "sound"):
            if column not in suggested and field not in suggested.values():
                suggested[column] = field
    if suggested.get("question") == "question" and not {"value", "question_text"} & set(suggested.values()):
        suggested["question"] = (
            "question_text"  # nothing is answered here: it is what is asked, not which of several
        )
    return {column: suggested.get(column, "") for column in columns}


def _matching_fields(name: str, *, sounds: bool) -> Iterator[str]:
    yield from (field for field in FIELDS if field == name)
    if name in STRATUM_NAMES:
        yield f"stratum.{name}"
    yield from (field for field, names in FIELD_SYNONYMS.items() if name in names)
    for letter, sides in SIDE_SYNONYMS.items():
        for side in sides:
            if name == side:
                yield f"audio_{letter}" if sounds else f"answer_{letter}"
            elif (bare := _strip_side(name, side)) is not None:
                yield from (f"{field}_{letter}" for field in _candidate_fields(bare, sounds=sounds))
    yield from _candidate_fields(name, sounds=sounds)


def _candidate_fields(name: str, *, sounds: bool) -> Iterator[str]:
    if name in ("system", *FIELD_SYNONYMS["system"]):
        yield "system"
    elif sounds or name in ("audio", *AUDIO_SYNONYMS):
        yield "audio"
    elif name in ("answer", *ANSWER_SYNONYMS):
        yield "answer"


def _strip_side(name: str, side: str) -> str | None:
    """audio_1, audio1, chosen_audio and a_audio without their side; None for a name that does not state it."""
    for pattern in (rf"(.+?)_?{side}\Z", rf"{side}_(.+)\Z"):
        loose = side.isdigit() or "_" in name
        if loose and (match := re.match(pattern, name)):
            return match[1].strip("_")
    return None


def _normalize_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
