"""Which field a column most likely holds, from what it is called elsewhere and what stands in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from annotation.importers.columns import FIELDS, STRATUM

# Other names of our fields, in the order of their likelihood; exact names come before all of them.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
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
SOUND_NAMES = (
    *("clip", "file", "file_name", "filename", "path", "wav", "sound", "url"),
    *("audio_path", "audio_file", "audio_url", "audio_filepath", "audio_filename"),
)
TEXT_NAMES = ("response", "output", "prediction", "hypothesis", "completion", "candidate_answer")
# What the two sides of a comparison are called, and where the side stands in a column's name.
SIDES = {"a": ("a", "1", "left", "first", "chosen"), "b": ("b", "2", "right", "second", "rejected")}
STRATA = ("split", "category", "genre", "modality", "difficulty", "language", "dataset")


def suggested(columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """A field for each column, "" where none suggests itself. No field is suggested twice."""
    found = {column: column for column in columns if column in FIELDS or STRATUM.match(column)}
    for column in columns:
        for field in _others(_plain(column), sounds=types.get(column) == "sound"):
            if column not in found and field not in found.values():
                found[column] = field
    if found.get("question") == "question" and not {"value", "question_text"} & set(found.values()):
        found["question"] = (
            "question_text"  # nothing is answered here: it is what is asked, not which of several
        )
    return {column: found.get(column, "") for column in columns}


def _others(name: str, *, sounds: bool) -> Iterator[str]:
    yield from (field for field in FIELDS if field == name)
    if name in STRATA:
        yield f"stratum.{name}"
    yield from (field for field, names in OTHER_NAMES.items() if name in names)
    for letter, sides in SIDES.items():
        for side in sides:
            if name == side:
                yield f"audio_{letter}" if sounds else f"answer_{letter}"
            elif (bare := _without(name, side)) is not None:
                yield from (f"{field}_{letter}" for field in _candidates(bare, sounds=sounds))
    yield from _candidates(name, sounds=sounds)


def _candidates(name: str, *, sounds: bool) -> Iterator[str]:
    if name in ("system", *OTHER_NAMES["system"]):
        yield "system"
    elif sounds or name in ("audio", *SOUND_NAMES):
        yield "audio"
    elif name in ("answer", *TEXT_NAMES):
        yield "answer"


def _without(name: str, side: str) -> str | None:
    """audio_1, audio1, chosen_audio and a_audio without their side; None for a name that does not state it."""
    for pattern in (rf"(.+?)_?{side}\Z", rf"{side}_(.+)\Z"):
        loose = side.isdigit() or "_" in name
        if loose and (match := re.match(pattern, name)):
            return match[1].strip("_")
    return None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
