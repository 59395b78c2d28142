"""Asking for a scoring run: a scorer, its settings as its entry declares them, and what to score."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy

from analytics.reports.scorers import Parts
from annotation.errors import DomainError
from labeling_ui.scorer_words import label_of
from labeling_ui.sentences import said
from scoring import prompts
from scoring.metrics import registry
from scoring.metrics.entries import Entry, Option
from scoring.training.catalogue import Trainable
from scoring.writing.catalogue import Kind

MAX_PROMPT_BYTES = 200_000
# What an uploaded prompt file said, carried through a form that has a fault elsewhere: browsers forget chosen files.
KEPT = "_kept"


@dataclass(frozen=True)
class ScorerCard:
    entry: Entry
    chosen: bool


def scorer_cards(chosen: str) -> list[ScorerCard]:
    """Every scorer there is, by title."""
    entries = sorted(registry.METRICS.values(), key=lambda entry: entry.title)
    return [ScorerCard(entry, entry.name == chosen) for entry in entries]


def parsed(text: str) -> dict[str, Any]:
    """A prompt file's text as a table, checked. Raises ValidationError, which names the place."""
    try:
        table = tomllib.loads(text)
        prompts.parse(table)
    except tomllib.TOMLDecodeError as error:
        raise forms.ValidationError(_("This is no TOML: %(why)s") % {"why": error}) from None
    except prompts.PromptError as error:
        raise forms.ValidationError(str(error)) from None
    return table


def _text_of(file: UploadedFile) -> str:
    if file.size is None or file.size > MAX_PROMPT_BYTES:
        raise forms.ValidationError(_("A prompt file has 200 kB at most."))
    file.seek(0)
    try:
        return str(file.read(), "utf-8-sig")
    except UnicodeDecodeError:
        raise forms.ValidationError(_("This is no text in UTF-8.")) from None


class OptionsForm(forms.Form):
    """The settings of one scorer. `values` are those that were given, each of its kind; whether the scorer takes them
    is for the service to say, which knows the study's own prompts."""

    def __init__(
        self,
        entry: Entry | Kind | Trainable,
        data: QueryDict | None = None,
        files: MultiValueDict[str, UploadedFile] | None = None,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        self.entry = entry
        self._read_errors: dict[str, forms.ValidationError] = {}
        if data is not None:
            data = self._with_files_kept(data.copy(), files or MultiValueDict())
        super().__init__(data, None if data is None else files, prefix="option", initial=initial)
        for option in entry.options:
            self.fields[option.name] = _field(option)
            if option.kind == "table":
                self.fields[option.name + KEPT] = forms.CharField(required=False, widget=forms.HiddenInput)

    def _with_files_kept(self, data: QueryDict, files: MultiValueDict[str, UploadedFile]) -> QueryDict:
        for option in self.entry.options:
            name = f"option-{option.name}"
            if option.kind != "table" or name not in files:
                continue
            try:
                data[name + KEPT] = _text_of(files[name])
                parsed(data[name + KEPT])
            except forms.ValidationError as error:
                data[name + KEPT] = ""
                self._read_errors[option.name] = error
        return data

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for name, error in self._read_errors.items():
            self.add_error(name, error)
        for name in [option.name for option in self.entry.options if option.kind == "table"]:
            text = cleaned.pop(name + KEPT, "")
            try:
                cleaned[name] = parsed(text) if text else None
            except forms.ValidationError as error:
                self.add_error(name, error)
        return cleaned

    @property
    def values(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "", [])}

    @property
    def rows(self) -> list[tuple[Option, forms.BoundField, bool]]:
        """Each setting, its field, and whether an uploaded file is kept for it."""
        return [
            (option, self[option.name], option.kind == "table" and bool(self[option.name + KEPT].value()))
            for option in self.entry.options
        ]


def refuse(options: OptionsForm, scope: ScopeForm, error: DomainError) -> None:
    """Show what a service refused: each problem beside its field, the sentence itself above the form."""
    if not error.problems:
        options.add_error(None, said(error))
    for problem in error.problems:
        group, _dot, name = problem.field.partition(".")
        form: forms.Form = scope if group == "filter" else options
        name = name.partition(".")[0]
        # What a setting is for stands beside it already, in the reader's language.
        remedy = problem.remedy if form is scope else ""
        form.add_error(name if name in form.fields else None, f"{problem.message} {remedy}".strip())


def _field(option: Option) -> forms.Field:
    about: dict[str, Any] = {
        "label": label_of(option.name),
        "help_text": look_up(option.help),
        "required": option.required,
        "initial": option.default,
    }
    choices = [(choice, choice) for choice in option.choices]
    if option.kind == "choice":
        return forms.ChoiceField(**about, choices=choices)
    if option.kind == "texts" and choices:
        return forms.MultipleChoiceField(**about, choices=choices, widget=forms.CheckboxSelectMultiple)
    if option.kind == "texts":
        about["initial"] = ", ".join(option.default or ())
        return forms.CharField(**about)
    if option.kind == "number":
        return forms.IntegerField(**about)
    if option.kind == "decimal":
        return forms.FloatField(**about, widget=forms.NumberInput({"step": "any"}))
    if option.kind == "flag":
        return forms.BooleanField(**{**about, "required": False})
    if option.kind == "table":
        return forms.FileField(**{**about, "required": False}, widget=forms.FileInput({"accept": ".toml"}))
    return forms.CharField(**about, widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off"}))


class PromptFileForm(forms.Form):
    """A prompt file; `cleaned_data["file"]` is its table, checked."""

    file = forms.FileField(
        label=gettext_lazy("A prompt file of your own"),
        help_text=gettext_lazy("TOML, shaped as the file that can be downloaded here."),
        widget=forms.FileInput({"accept": ".toml"}),
    )

    def clean_file(self) -> dict[str, Any]:
        return parsed(_text_of(self.cleaned_data["file"]))


class ScopeForm(forms.Form):
    """Which candidates to score."""

    systems = forms.MultipleChoiceField(
        label=gettext_lazy("Systems"),
        required=False,
        help_text=gettext_lazy("None ticked: all of them."),
        widget=forms.CheckboxSelectMultiple,
    )
    strata = forms.MultipleChoiceField(
        label=gettext_lazy("Strata"),
        required=False,
        help_text=gettext_lazy("None ticked: all items. Several values of one stratum: any of them."),
        widget=forms.CheckboxSelectMultiple,
    )
    again = forms.BooleanField(
        label=gettext_lazy("Score again what this scorer has scored already"),
        required=False,
        help_text=gettext_lazy("Otherwise only what has no score by exactly this scorer is scored."),
    )

    prescore = forms.BooleanField(
        label=gettext_lazy("Score new items when they are imported"),
        required=False,
        help_text=gettext_lazy("With these settings, whichever systems and strata they are of."),
    )

    def __init__(self, data: Any = None, *, parts: Parts) -> None:
        super().__init__(data, prefix="scope")
        self.fields["systems"].choices = [(name, name) for name in parts.systems]
        self.fields["strata"].choices = [(f"{key}={value}", f"{key}: {value}") for key, value in parts.strata]

    @property
    def filter(self) -> dict[str, Any]:
        """As runs take it: systems by name, and for each stratum the values wanted."""
        strata: dict[str, list[str]] = {}
        for pair in self.cleaned_data["strata"]:
            key, _equals, value = pair.partition("=")
            strata.setdefault(key, []).append(value)
        found = {"systems": self.cleaned_data["systems"], "strata": strata}
        return {name: wanted for name, wanted in found.items() if wanted}
