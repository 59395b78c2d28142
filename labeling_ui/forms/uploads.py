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

from annotation.importers import FORMATS
from annotation.importers.peek import Peek
from annotation.models import Study
from annotation.protocols import Protocol, preset, preset_keys
from annotation.services.import_orders import NewStudy
from labeling_ui.forms.imports import TITLES, fields_of

LEAVE_OUT = "-"
STRATUM = "stratum"
OPTIONS = ("dry_run", "skip_bad_rows", "archive")
# What `peek` found a column to hold, in words.
TYPES: dict[str, Promise] = {
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
        self.fields["format"].choices = [(key, TITLES.get(key, FORMATS[key].title)) for key in fitting]
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
        label=_("Finished data: want no more judgments for tasks that bring some"), required=False
    )
    dry_run = forms.BooleanField(label=_("Only try: check everything, change nothing"), required=False)

    def __init__(self, *args: Any, look: Peek | None, protocol: Protocol, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._names: Sequence[str] = look.columns if look else ()
        self._types = look.types if look else {}
        known = fields_of(protocol)
        taken: set[str] = set()
        for place, name in enumerate(self._names):
            assert look is not None
            likely = self._likely(name, look.suggested.get(name, ""), known, taken)
            taken.add(likely)
            self.fields[f"column-{place}"] = forms.ChoiceField(
                label=name, choices=_meanings(known), initial=likely, required=False
            )

    @staticmethod
    def _likely(name: str, suggested: str, known: Sequence[str], taken: set[str]) -> str:
        """What a column most likely holds; no field is suggested twice."""
        if suggested in known and suggested not in taken:
            return suggested
        return STRATUM if name.startswith("stratum.") or suggested.startswith("stratum.") else LEAVE_OUT

    def columns(self) -> Iterator[Column]:
        for place, name in enumerate(self._names):
            yield Column(name, TYPES[self._types[name]], self[f"column-{place}"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        chosen: dict[str, str] = {}
        for place, name in enumerate(self._names):
            field = cleaned.get(f"column-{place}") or LEAVE_OUT
            if field in chosen:
                told = _("%(column)s holds this already.") % {"column": chosen[field]}
                self.add_error(f"column-{place}", told)
            elif field not in (LEAVE_OUT, STRATUM):
                chosen[field] = name
        if self._names and "item_id" not in chosen and not self.errors:
            self.add_error(None, _("Say which column names the item (item_id)."))
        return cleaned

    def column_map(self) -> dict[str, str]:
        """As importers take it: column to field, an empty field for a column to leave out."""
        found = {}
        strata = {name for name in self._names if name.startswith("stratum.")}
        for place, name in enumerate(self._names):
            field = self.cleaned_data.get(f"column-{place}") or LEAVE_OUT
            if field == STRATUM:
                field = name if name in strata else _stratum(name, strata)
                strata.add(field)
            if field != name:
                found[name] = "" if field == LEAVE_OUT else field
        return found

    @property
    def options(self) -> dict[str, bool]:
        return {name: self.cleaned_data[name] for name in OPTIONS}


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
        help_text=_("By so many different raters. Agreement needs at least two."),
    )

    def study(self, preset_key: str) -> NewStudy:
        given = self.cleaned_data
        return NewStudy(given["slug"], given["title"], preset_key, given["overlap"])


def _meanings(known: Sequence[str]) -> list[tuple[str, Any]]:
    return [
        (LEAVE_OUT, _("– leave it out")),
        (STRATUM, _("to break results down by")),
        *((name, name) for name in known),
    ]


def _stratum(column: str, taken: Container[str]) -> str:
    """Made of the column's name; those that come out the same are numbered."""
    base = re.sub(r"\W+", "_", column).strip("_")[:40] or "other"
    numbered = (f"stratum.{base[:36]}_{number}" for number in count(2))
    return next(name for name in chain([f"stratum.{base}"], numbered) if name not in taken)
