"""What uploaded files hold: their format, what they are to be judged by, and each column's meaning."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from annotation.importing.formats import FORMATS
from annotation.importing.formats.columns import (
    ANSWER_FIELDS,
    CANDIDATE_FIELDS,
    FIELDS,
    LETTERED_FIELDS,
    candidate_letters,
)
from annotation.importing.formats.detection import TablePreview
from annotation.importing.options import NewStudy
from annotation.models import Study
from annotation.protocols import Protocol, preset, preset_keys

# What formats and the fields of a plain table are called.


IMPORT_FORMAT_LABELS: dict[str, Promise] = {
    "csv": _("CSV table: one answer, or one task, per row"),
    "jsonl": _("JSONL: one answer, or one task, per line"),
    "tsv": _("TSV table: tabs between the cells"),
    "xlsx": _("Excel workbook (.xlsx): one answer, one task or one clip per row"),
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
COLUMN_HELP: dict[str, Promise] = {
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
    "take": _("Which of several clips of one system for one prompt: clips of the same take are compared."),
    "rater_id": _("Who answered; empty for an unnamed rater."),
    "question": _("The key of the question that the row answers."),
    "candidate": _("Which candidate the row rates: the letter of its columns."),
    "value": _("The answer: a number, a text, or A, B, tie, both_bad as the row lists the candidates."),
    "confidence": _("How sure the rater was."),
    "codes": _("Feedback codes, separated by blanks."),
    "comment": _("The rater's remark."),
}
CANDIDATE_LETTER = re.compile(r"_[a-z]\Z")


def import_fields(protocol: Protocol) -> list[str]:
    """The fields of a plain table that a protocol has a use for."""
    lettered = candidate_letters(protocol)
    unused = {*CANDIDATE_FIELDS, "take"} if lettered else {"take"}
    unused |= {name for name in LETTERED_FIELDS if name[-1] not in lettered}
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
        unused |= set(ANSWER_FIELDS)
    return [name for name in FIELDS if name not in unused]


def import_field_help(protocol: Protocol) -> Iterator[tuple[str, Promise, bool]]:
    """Field, what it means, and whether it is part of an answer rather than of the task."""
    last = candidate_letters(protocol)[-1:]
    for name in import_fields(protocol):
        stem = CANDIDATE_LETTER.sub("", name)
        if name in LETTERED_FIELDS and len(candidate_letters(protocol)) > 2:
            if name.endswith("_a"):
                yield f"{name} … {stem}_{last}", COLUMN_HELP[stem], False
        else:
            yield name, COLUMN_HELP[stem], name in ANSWER_FIELDS


IGNORED_COLUMN = "-"
STRATUM_COLUMN = "stratum"
IMPORT_OPTIONS = ("dry_run", "skip_bad_rows", "archive")
# What `peek` found a column to hold, in words.
COLUMN_TYPE_LABELS: dict[str, Promise] = {
    "whole number": _("whole numbers"),
    "number": _("numbers"),
    "sound": _("sounds"),
    "text": _("text"),
    "list": _("lists"),
    "object": _("objects"),
    "bytes": _("bytes"),
    "mixed": _("of several kinds"),
    "empty": _("empty in these rows"),
}


class ReadingForm(forms.Form):
    """How to read the files; sent by itself, so that the page can be drawn anew."""

    format = forms.ChoiceField(label=_("Format"))
    preset = forms.ChoiceField(label=_("What raters are asked"), required=False)

    def __init__(self, *args: Any, study: Study | None, preset_key: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = [key for key, one in FORMATS.items() if study is None or one.protocol in ("", preset_key)]
        self.fields["format"].choices = [
            (key, IMPORT_FORMAT_LABELS.get(key, FORMATS[key].title)) for key in fitting
        ]
        if study is None:
            language = get_language() or "en"
            self.fields["preset"].choices = [
                (key, f"{preset(key).questions[0].title.in_language(language)} ({key})")
                for key in preset_keys()
            ]
        else:
            del self.fields["preset"]


@dataclass(frozen=True)
class Column:
    """One column as the page shows it: its control above the cells of the first rows."""

    name: str
    kind: Promise
    field: forms.BoundField


class MappingForm(forms.Form):
    """What each column holds, and how to import. `look` is None for formats whose columns are fixed."""

    skip_bad_rows = forms.BooleanField(label=_("Leave bad rows out and import the rest"), required=False)
    archive = forms.BooleanField(
        label=_("Finished data: request no more judgments for tasks that already have some"), required=False
    )
    dry_run = forms.BooleanField(label=_("Dry run: check everything, change nothing"), required=False)

    def __init__(self, *args: Any, look: TablePreview | None, protocol: Protocol, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names: Sequence[str] = look.columns if look else ()
        self._types = look.types if look else {}
        known = import_fields(protocol)
        taken: set[str] = set()
        for place, name in enumerate(self._names):
            assert look is not None
            likely = self._likely(name, look.suggested.get(name, ""), known, taken)
            taken.add(likely)
            self.fields[f"column-{place}"] = forms.ChoiceField(
                label=name, choices=_column_choices(known), initial=likely, required=False
            )

    @staticmethod
    def _likely(name: str, suggested: str, known: Sequence[str], taken: set[str]) -> str:
        """What a column most likely holds; no field is suggested twice."""
        if suggested in known and suggested not in taken:
            return suggested
        return (
            STRATUM_COLUMN
            if name.startswith("stratum.") or suggested.startswith("stratum.")
            else IGNORED_COLUMN
        )

    def columns(self) -> Iterator[Column]:
        for place, name in enumerate(self._names):
            yield Column(name, COLUMN_TYPE_LABELS[self._types[name]], self[f"column-{place}"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        chosen: dict[str, str] = {}
        for place, name in enumerate(self._names):
            field = cleaned.get(f"column-{place}") or IGNORED_COLUMN
            if field in chosen:
                message = _("%(column)s holds this already.") % {"column": chosen[field]}
                self.add_error(f"column-{place}", message)
            elif field not in (IGNORED_COLUMN, STRATUM_COLUMN):
                chosen[field] = name
        if self._names and "item_id" not in chosen and not self.errors:
            self.add_error(None, _("Say which column names the item (item_id)."))
        return cleaned

    def column_map(self) -> dict[str, str]:
        """As importers take it: column to field, an empty field for a column to leave out."""
        found = {}
        strata = {name for name in self._names if name.startswith("stratum.")}
        for place, name in enumerate(self._names):
            field = self.cleaned_data.get(f"column-{place}") or IGNORED_COLUMN
            if field == STRATUM_COLUMN:
                field = name if name in strata else _stratum_name(name, strata)
                strata.add(field)
            if field != name:
                found[name] = "" if field == IGNORED_COLUMN else field
        return found

    @property
    def options(self) -> dict[str, bool]:
        return {name: self.cleaned_data[name] for name in IMPORT_OPTIONS}


class NewStudyPart(forms.Form):
    """The study that the files are to make."""

    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Raters see it."))
    slug = forms.SlugField(
        label=_("Address"),
        max_length=80,
        help_text=_("Part of the study's links: letters, digits and hyphens. It cannot be changed later."),
    )
    overlap = forms.IntegerField(
        label=_("Judgments wanted per task"),
        initial=3,
        min_value=1,
        max_value=1000,
        help_text=_("Each by a different rater. Agreement needs at least two."),
    )

    def study(self, preset_key: str) -> NewStudy:
        given = self.cleaned_data
        return NewStudy(given["slug"], given["title"], preset_key, given["overlap"])


def _column_choices(known: Sequence[str]) -> list[tuple[str, Any]]:
    return [
        (IGNORED_COLUMN, _("– leave it out")),
        (STRATUM_COLUMN, _("to break results down by")),
        *((name, name) for name in known),
    ]


def _stratum_name(column: str, taken: Container[str]) -> str:
    """Made of the column's name; those that come out the same are numbered."""
    base = re.sub(r"\W+", "_", column).strip("_")[:40] or "other"
    numbered = (f"stratum.{base[:36]}_{number}" for number in count(2))
    return next(name for name in chain([f"stratum.{base}"], numbered) if name not in taken)
