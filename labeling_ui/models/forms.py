"""Asking for a scoring run: a scorer, its settings as its entry declares them, and what to score."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up
from django.utils.translation import gettext_lazy

from analytics.overview.scorers import StudyParts
from annotation.models import Study, System
from labeling_ui.models.catalogue_texts import option_label
from scoring import prompts
from scoring.metrics.registry import MetricEntry, Option
from scoring.models import Writer
from scoring.prompts import parse, to_toml
from scoring.training.catalogue import Trainable
from scoring.writing.kinds import KINDS, Kind
from scoring.writing.text_files import MOST_UPLOAD_BYTES
from scoring.writing.writers import WriterSettings

MAX_PROMPT_BYTES = 200_000
# What an uploaded prompt file said, carried through a form that has a fault elsewhere: browsers forget chosen files.
KEPT_FILE_SUFFIX = "_kept"


def parse_prompt_file(text: str) -> dict[str, Any]:
    """A prompt file's text as a table, checked. Raises ValidationError, which names the place."""
    try:
        table = tomllib.loads(text)
        prompts.parse(table)
    except tomllib.TOMLDecodeError as error:
        raise forms.ValidationError(_("This is no TOML: %(why)s") % {"why": error}) from None
    except prompts.PromptError as error:
        raise forms.ValidationError(str(error)) from None
    return table


def _read_prompt_file(file: UploadedFile) -> str:
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

    # What a setting is for stands beside it already, in the reader's language.
    shows_remedies = False

    def __init__(
        self,
        entry: MetricEntry | Kind | Trainable,
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
            self.fields[option.name] = _option_field(option)
            if option.kind == "table":
                self.fields[option.name + KEPT_FILE_SUFFIX] = forms.CharField(
                    required=False, widget=forms.HiddenInput
                )

    def _with_files_kept(self, data: QueryDict, files: MultiValueDict[str, UploadedFile]) -> QueryDict:
        for option in self.entry.options:
            name = f"option-{option.name}"
            if option.kind != "table" or name not in files:
                continue
            try:
                data[name + KEPT_FILE_SUFFIX] = _read_prompt_file(files[name])
                parse_prompt_file(data[name + KEPT_FILE_SUFFIX])
            except forms.ValidationError as error:
                data[name + KEPT_FILE_SUFFIX] = ""
                self._read_errors[option.name] = error
        return data

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        for name, error in self._read_errors.items():
            self.add_error(name, error)
        for name in [option.name for option in self.entry.options if option.kind == "table"]:
            text = cleaned.pop(name + KEPT_FILE_SUFFIX, "")
            try:
                cleaned[name] = parse_prompt_file(text) if text else None
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
            (
                option,
                self[option.name],
                option.kind == "table" and bool(self[option.name + KEPT_FILE_SUFFIX].value()),
            )
            for option in self.entry.options
        ]


def _option_field(option: Option) -> forms.Field:
    about: dict[str, Any] = {
        "label": option_label(option.name),
        "help_text": look_up(option.help),
        "required": option.required,
        "initial": option.default,
    }
    choices = [(choice, choice) for choice in option.choices]
    match option.kind:
        case "choice":
            return forms.ChoiceField(**about, choices=choices)
        case "texts" if choices:
            return forms.MultipleChoiceField(**about, choices=choices, widget=forms.CheckboxSelectMultiple)
        case "texts":
            return forms.CharField(**about | {"initial": ", ".join(option.default or ())})
        case "number":
            return forms.IntegerField(**about)
        case "decimal":
            return forms.FloatField(**about, widget=forms.NumberInput({"step": "any"}))
        case "flag":
            return forms.BooleanField(**about | {"required": False})
        case "table":
            return forms.FileField(**about | {"required": False}, widget=forms.FileInput({"accept": ".toml"}))
    return forms.CharField(**about, widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off"}))


class PromptFileForm(forms.Form):
    """A prompt file; `cleaned_data["file"]` is its table, checked."""

    file = forms.FileField(
        label=gettext_lazy("A prompt file of your own"),
        help_text=gettext_lazy("TOML, in the layout of the file that you can download here."),
        widget=forms.FileInput({"accept": ".toml"}),
    )

    def clean_file(self) -> dict[str, Any]:
        return parse_prompt_file(_read_prompt_file(self.cleaned_data["file"]))


def strata_choices(parts: StudyParts) -> list[tuple[str, str]]:
    return [(f"{key}={value}", f"{key}: {value}") for key, value in parts.strata]


def chosen_strata(choices: list[str]) -> dict[str, list[str]]:
    strata: dict[str, list[str]] = {}
    for pair in choices:
        key, _equals, value = pair.partition("=")
        strata.setdefault(key, []).append(value)
    return strata


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
        label=gettext_lazy("Score again what this scorer has already scored"),
        required=False,
        help_text=gettext_lazy("Otherwise only rows without a score by exactly this scorer are scored."),
    )

    prescore = forms.BooleanField(
        label=gettext_lazy("Score new items when they are imported"),
        required=False,
        help_text=gettext_lazy("With these settings, whichever systems and strata they are of."),
    )

    def __init__(self, data: Any = None, *, parts: StudyParts) -> None:
        super().__init__(data, prefix="scope")
        self.fields["systems"].choices = [(name, name) for name in parts.systems]
        self.fields["strata"].choices = strata_choices(parts)

    @property
    def filter(self) -> dict[str, Any]:
        """As runs take it: systems by name, and for each stratum the values wanted."""
        chosen = {
            "systems": self.cleaned_data["systems"],
            "strata": chosen_strata(self.cleaned_data["strata"]),
        }
        return {name: values for name, values in chosen.items() if values}


# Setting up a writer, starting it, and handing in texts that were written elsewhere.


_PROMPTS_OPTION = Option(
    "prompts", "table", "A study's own prompt file, in place of the one that comes along."
)


def kind_with_prompt(writes: str) -> Kind:
    """A kind of writer as its form asks for it: the prompt is one more setting."""
    return replace(KINDS[writes], options=(*KINDS[writes].options, _PROMPTS_OPTION))


class WriterForm(forms.Form):
    """What a writer is, besides its model's settings."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=80,
        help_text=gettext_lazy("As experts see it beside its drafts."),
    )
    backbone = forms.CharField(
        label=gettext_lazy("Model"),
        max_length=500,
        help_text=gettext_lazy(
            "Its name on the hub, a folder, or a server’s address with the model’s name, as "
            "http://host:8000/v1#Qwen/Qwen2.5-Omni-7B."
        ),
        widget=forms.TextInput({"spellcheck": "false", "autocomplete": "off"}),
    )
    system = forms.CharField(
        label=gettext_lazy("System"),
        max_length=200,
        help_text=gettext_lazy("Whose answers these are. Raters never see it. A new name adds a system."),
        widget=forms.TextInput({"list": "systems", "autocomplete": "off"}),
    )
    per_minute = forms.IntegerField(
        label=gettext_lazy("Most texts a minute"),
        required=False,
        min_value=1,
        help_text=gettext_lazy("Leave empty for no rate limit."),
    )
    price_in = forms.FloatField(
        label=gettext_lazy("Price of a million tokens read"),
        required=False,
        min_value=0,
        help_text=gettext_lazy("In any currency. Leave empty to count tokens only."),
    )
    price_out = forms.FloatField(
        label=gettext_lazy("Price of a million tokens written"), required=False, min_value=0
    )
    drafts = forms.BooleanField(
        label=gettext_lazy("Draft for every case at the review desk"),
        required=False,
        help_text=gettext_lazy(
            "Requested automatically once the expert has judged. Otherwise the expert can request it."
        ),
    )

    plain_words = forms.BooleanField(
        label=gettext_lazy("Use the shipped prompt instead of the stored file"), required=False
    )

    def __init__(
        self, study: Study, writes: str, data: QueryDict | None = None, *, writer: Writer | None = None
    ) -> None:
        names = ("name", "backbone", "system", "per_minute", "price_in", "price_out", "drafts")
        initial = {name: getattr(writer, name) for name in names} if writer else {}
        super().__init__(data, initial=initial)
        self.systems = System.objects.filter(study=study, role=System.Role.JUDGED).order_by("name")
        del self.fields["drafts" if writes == Writer.Writes.ANSWER else "system"]
        if writer is None or not writer.prompt:
            del self.fields["plain_words"]

    def settings(self, writes: str, options: OptionsForm) -> WriterSettings:
        values, fields = {**options.values}, {**self.cleaned_data}
        prompt = values.pop("prompts", {})
        if fields.pop("plain_words", False):
            prompt = {}
        return WriterSettings(writes=writes, options=values, prompt=prompt, **fields)


def writer_options_form(
    writes: str,
    data: QueryDict | None = None,
    files: MultiValueDict[str, UploadedFile] | None = None,
    *,
    writer: Writer | None = None,
) -> OptionsForm:
    """The settings of a writer's model; for one that is there, as they are, its prompt file kept."""
    initial: dict[str, Any] = dict(writer.options) if writer else {}
    if writer and writer.prompt:
        initial["prompts_kept"] = to_toml(parse(writer.prompt))
    return OptionsForm(kind_with_prompt(writes), data, files, initial=initial)


class StartForm(forms.Form):
    """What a writer is to write for, and what becomes of it."""

    strata = forms.MultipleChoiceField(
        label=gettext_lazy("Strata"),
        required=False,
        help_text=gettext_lazy("None ticked: all items. Several values of one stratum: any of them."),
        widget=forms.CheckboxSelectMultiple,
    )
    publishes = forms.ChoiceField(
        label=gettext_lazy("When they are written"),
        choices=[
            ("", gettext_lazy("Look at them first, then publish")),
            ("yes", gettext_lazy("Publish them as they come")),
        ],
        required=False,
        widget=forms.RadioSelect,
    )
    anew = forms.BooleanField(
        label=gettext_lazy("Also items that have such a text"),
        required=False,
        help_text=gettext_lazy("What is published then replaces it, in a new version of the item."),
    )
    judged = forms.BooleanField(
        label=gettext_lazy("Also items that people have judged"),
        required=False,
        help_text=gettext_lazy(
            "Their new version is judged again; the votes so far are excluded from the figures."
        ),
    )

    def __init__(self, data: Any = None, *, parts: StudyParts, answers: bool) -> None:
        super().__init__(data)
        self.fields["strata"].choices = strata_choices(parts)
        if answers:
            del self.fields["anew"], self.fields["judged"]

    @property
    def options(self) -> dict[str, Any]:
        """As runs take it."""
        strata = chosen_strata(self.cleaned_data["strata"])
        return {
            "filter": {"strata": strata} if strata else {},
            "anew": self.cleaned_data.get("anew", False),
            "judged": self.cleaned_data.get("judged", False),
            "publishes": self.cleaned_data["publishes"] == "yes",
        }


class TextsFileForm(forms.Form):
    """A file of texts or answers."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("CSV, TSV or JSONL in UTF-8, 50 MB at most."),
        widget=forms.FileInput({"accept": ".csv,.tsv,.jsonl"}),
    )
    new_systems = forms.BooleanField(
        label=gettext_lazy("The file may name systems that the study does not have yet"), required=False
    )
    anew = forms.BooleanField(label=gettext_lazy("The file may replace existing texts"), required=False)
    judged = forms.BooleanField(
        label=gettext_lazy("The file may change items that people have judged"),
        required=False,
        help_text=gettext_lazy(
            "Their new version is judged again; the votes so far are excluded from the figures."
        ),
    )
    look_first = forms.BooleanField(
        label=gettext_lazy("Let me review the texts before they are published"), required=False
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if file.size is None or file.size > MOST_UPLOAD_BYTES:
            raise forms.ValidationError(_("The file may have 50 MB at most. Split it, or use the command."))
        return file
