"""What to import, and which column of a plain table means what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.importers import FORMATS
from annotation.importers.columns import ANSWERS, FIELDS, LETTERED, SINGLE, letters
from annotation.protocols import Protocol

TITLES: dict[str, Promise] = {
    "csv": _("CSV table: one answer, or one task, per row"),
    "jsonl": _("JSONL: one answer, or one task, per line"),
    "cmi-pref": _("CMI-Pref release: JSONL with audio beside it"),
    "orca": _("ORCA release: JSON files of answers with their ratings"),
    "fense": _("FENSE release: JSON files of caption pairs with their votes"),
    "aes": _("Audiobox Aesthetics release: JSONL of clips with their ratings"),
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
LEAVE_OUT = "-"
LETTER = re.compile(r"_[a-z]\Z")
STRATUM = "stratum"


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


class ImportForm(forms.Form):
    format = forms.ChoiceField(label=_("Format"), widget=forms.RadioSelect)
    file = forms.FileField(
        label=_("File"),
        help_text=_("One file; or a .zip archive with it and the sound files that it names."),
        widget=forms.FileInput({"accept": ".csv,.jsonl,.json,.zip"}),
    )
    dry_run = forms.BooleanField(label=_("Only try: check everything, change nothing"), required=False)
    skip_bad_rows = forms.BooleanField(label=_("Leave bad rows out and import the rest"), required=False)
    archive = forms.BooleanField(
        label=_("Finished data: want no more judgments for tasks that bring some"), required=False
    )

    def __init__(self, *args: Any, preset: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = [key for key, format in FORMATS.items() if format.protocol in ("", preset)]
        self.fields["format"].choices = [(key, TITLES.get(key, FORMATS[key].title)) for key in fitting]
        self.fields["format"].initial = "csv"


class ColumnForm(forms.Form):
    """A column of the person's table and what it holds."""

    column = forms.CharField(label=_("Column in your table"), max_length=200, required=False)
    field = forms.ChoiceField(label=_("What it holds"), required=False)

    def __init__(self, *args: Any, protocol: Protocol, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["field"].choices = [
            ("", "–"),
            (LEAVE_OUT, _("nothing we need: leave it out")),
            (STRATUM, _("something to break results down by")),
            *((name, name) for name in fields_of(protocol)),
        ]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if cleaned.get("column") and not cleaned.get("field") and "field" not in self.errors:
            self.add_error("field", _("Say what this column holds."))
        if cleaned.get("field") and not cleaned.get("column"):
            self.add_error("column", _("Say which column this is."))
        return cleaned


class BaseColumnFormSet(forms.BaseFormSet):
    def column_map(self) -> dict[str, str]:
        """As importers take it: column to field, an empty field for a column to leave out."""
        return dict(_mapping(form.cleaned_data) for form in self.forms if form.cleaned_data.get("column"))


ColumnFormSet = forms.formset_factory(ColumnForm, formset=BaseColumnFormSet, extra=1, max_num=100)


def _mapping(row: Mapping[str, str]) -> tuple[str, str]:
    column, field = row["column"], row["field"]
    if field == STRATUM:
        return column, "stratum." + re.sub(r"\W+", "_", column).strip("_")[:40]
    return column, "" if field == LEAVE_OUT else field
