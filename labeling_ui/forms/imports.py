"""What formats and the fields of a plain table are called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.importers.columns import ANSWERS, FIELDS, LETTERED, SINGLE, letters
from annotation.protocols import Protocol

TITLES: dict[str, Promise] = {
    "csv": _("CSV table: one answer, or one task, per row"),
    "jsonl": _("JSONL: one answer, or one task, per line"),
    "tsv": _("TSV table: tabs between the cells"),
    "json": _("JSON: a list of objects, one answer or task each"),
    "parquet": _("Parquet table"),
    "audiofolder": _("Folder of sounds, with a table or one folder per system"),
    "huggingface": _("Hugging Face dataset folder"),
    "cmi-pref": _("CMI-Pref release: JSONL with audio beside it"),
    "orca": _("ORCA release: JSON files of answers with their ratings"),
    "fense": _("FENSE release: JSON files of caption pairs with their votes"),
    "aes": _("Audiobox Aesthetics release: JSONL of clips with their ratings"),
    "label-studio": _("Label Studio export: JSON or JSON-MIN of tasks with their annotations"),
    "potato": _("POTATO project: its configuration, data and annotation_output in a .zip"),
}
MEANINGS: dict[str, Promise] = {
    "item_id": _("Names the item; rows with the same item and candidates are one task. Required."),
    "prompt": _("What was asked of the systems."),
    "lyrics": _("The words to be sung."),
    "question_text": _("The question about the recording."),
    "reference": _("The right answer."),
    "rationale": _("Why it is right."),
    "transcript": _("What is said in the recording."),
    "system": _("What made the candidate; raters never see it. Required."),
    "answer": _("The candidate's text."),
    "audio": _("The candidate's sound file, relative to the table."),
    "item_audio": _("The recording that the item is about."),
    "reference_audio": _("A clip that the systems were given."),
    "rater_id": _("Who answered; empty for an unnamed rater."),
    "question": _("The key of the question that the row answers."),
    "candidate": _("Which candidate the row rates: the letter of its columns."),
    "value": _("The answer: a number, a text, or A, B, tie, both_bad as the row lists the candidates."),
    "confidence": _("How sure the rater was."),
    "codes": _("Feedback codes, separated by blanks."),
    "comment": _("The rater's remark."),
}
LETTER = re.compile(r"_[a-z]\Z")


def fields_of(protocol: Protocol) -> list[str]:
    """The fields of a plain table that a protocol has a use for."""
    lettered = letters(protocol)
    unused = set(SINGLE) if lettered else set()
    unused |= {name for name in LETTERED if name[-1] not in lettered}
    not_judged = "answer" if protocol.candidate == "clip" else "audio"
    unused |= {not_judged, *(f"{not_judged}_{letter}" for letter in lettered)}
    item_fields = {"question_text" if name == "question" else name for name in protocol.content}
    texts = {"prompt", "lyrics", "question_text", "reference", "rationale", "transcript"}
    unused |= texts - item_fields
    if "clip" not in protocol.content:
        unused.add("item_audio")
    if "reference_clip" not in protocol.content:
        unused.add("reference_audio")
    if not any(question.per_candidate for question in protocol.questions):
        unused.add("candidate")
    if protocol.repeats_a_sound:
        unused |= set(ANSWERS)
    return [name for name in FIELDS if name not in unused]


def meanings(protocol: Protocol) -> Iterator[tuple[str, Promise, bool]]:
    """Field, what it means, and whether it is part of an answer rather than of the task."""
    last = letters(protocol)[-1:]
    for name in fields_of(protocol):
        stem = LETTER.sub("", name)
        if name in LETTERED and len(letters(protocol)) > 2:
            if name.endswith("_a"):
                yield f"{name} … {stem}_{last}", MEANINGS[stem], False
        else:
            yield name, MEANINGS[stem], name in ANSWERS
