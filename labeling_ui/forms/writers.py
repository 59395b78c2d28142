"""Setting up a writer, starting it, and handing in texts that were written elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analytics.reports.scorers import Parts
from annotation.errors import DomainError
from annotation.models import Study, System
from labeling_ui.forms.scoring import OptionsForm
from labeling_ui.sentences import said
from scoring.metrics.entries import Option
from scoring.models import Writer
from scoring.prompts import parse
from scoring.prompts.write import written
from scoring.services.writers import Wanted
from scoring.services.writing_uploads import MOST_BYTES
from scoring.writing.catalogue import KINDS, Kind

_PROMPTS = Option("prompts", "table", "A study's own prompt file, in place of the one that comes along.")


def kind_with_prompt(writes: str) -> Kind:
    """A kind of writer as its form asks for it: the prompt is one more setting."""
    return replace(KINDS[writes], options=(*KINDS[writes].options, _PROMPTS))


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
        help_text=gettext_lazy("Empty: as fast as it goes."),
    )
    price_in = forms.FloatField(
        label=gettext_lazy("Price of a million tokens read"),
        required=False,
        min_value=0,
        help_text=gettext_lazy("In whatever currency you reckon. Empty: only tokens are counted."),
    )
    price_out = forms.FloatField(
        label=gettext_lazy("Price of a million tokens written"), required=False, min_value=0
    )
    drafts = forms.BooleanField(
        label=gettext_lazy("Draft for every case at the review desk"),
        required=False,
        help_text=gettext_lazy(
            "Asked for by itself once the expert has judged. Otherwise an expert can ask for it."
        ),
    )

    plain_words = forms.BooleanField(
        label=gettext_lazy("Use the prompt that comes along instead of the file that is kept"), required=False
    )

    def __init__(
        self, study: Study, writes: str, data: QueryDict | None = None, *, writer: Writer | None = None
    ) -> None:
        super().__init__(data, initial=_initial(writer))
        self.systems = System.objects.filter(study=study, role=System.Role.JUDGED).order_by("name")
        del self.fields["drafts" if writes == Writer.Writes.ANSWER else "system"]
        if writer is None or not writer.prompt:
            del self.fields["plain_words"]

    def wanted(self, writes: str, options: OptionsForm) -> Wanted:
        values, said = {**options.values}, {**self.cleaned_data}
        prompt = values.pop("prompts", {})
        if said.pop("plain_words", False):
            prompt = {}
        return Wanted(writes=writes, options=values, prompt=prompt, **said)


def options_form(
    writes: str,
    data: QueryDict | None = None,
    files: MultiValueDict[str, UploadedFile] | None = None,
    *,
    writer: Writer | None = None,
) -> OptionsForm:
    """The settings of a writer's model; for one that is there, as they are, its prompt file kept."""
    initial: dict[str, Any] = dict(writer.options) if writer else {}
    if writer and writer.prompt:
        initial["prompts_kept"] = written(parse(writer.prompt))
    return OptionsForm(kind_with_prompt(writes), data, files, initial=initial)


def refuse(form: WriterForm, options: OptionsForm, error: DomainError) -> None:
    """Show what the service refused: each problem beside its field, the sentence itself above the form."""
    if not error.problems:
        form.add_error(None, said(error))
    for problem in error.problems:
        group, _dot, name = problem.field.partition(".")
        of_model = group in ("options", "prompt")
        name = "prompts" if group == "prompt" else name if of_model else group
        place: forms.Form = options if of_model else form
        text = f"{problem.message} {problem.remedy}".strip()
        place.add_error(name if name in place.fields else None, text)


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
        help_text=gettext_lazy("Their new version is judged anew; the votes so far are set aside."),
    )

    def __init__(self, data: Any = None, *, parts: Parts, answers: bool) -> None:
        super().__init__(data)
        self.fields["strata"].choices = [(f"{key}={value}", f"{key}: {value}") for key, value in parts.strata]
        if answers:
            del self.fields["anew"], self.fields["judged"]

    @property
    def asked(self) -> dict[str, Any]:
        """As runs take it."""
        strata: dict[str, list[str]] = {}
        for pair in self.cleaned_data["strata"]:
            key, _equals, value = pair.partition("=")
            strata.setdefault(key, []).append(value)
        found: dict[str, Any] = {"filter": {"strata": strata} if strata else {}}
        found |= {name: self.cleaned_data.get(name, False) for name in ("anew", "judged")}
        return found | {"publishes": self.cleaned_data["publishes"] == "yes"}


class TextsFileForm(forms.Form):
    """A file of texts or answers."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("CSV, TSV or JSONL in UTF-8, 50 MB at most."),
        widget=forms.FileInput({"accept": ".csv,.tsv,.jsonl"}),
    )
    new_systems = forms.BooleanField(
        label=gettext_lazy("It may name systems that the study does not have yet"), required=False
    )
    anew = forms.BooleanField(label=gettext_lazy("It may replace texts that are there"), required=False)
    judged = forms.BooleanField(
        label=gettext_lazy("It may change items that people have judged"),
        required=False,
        help_text=gettext_lazy("Their new version is judged anew; the votes so far are set aside."),
    )
    look_first = forms.BooleanField(
        label=gettext_lazy("Let me look before anything is published"), required=False
    )

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        if file.size is None or file.size > MOST_BYTES:
            raise forms.ValidationError(
                _("Such a file has 50 MB at most; make several of it, or use the command.")
            )
        return file


def _initial(writer: Writer | None) -> dict[str, Any]:
    if writer is None:
        return {}
    names = ("name", "backbone", "per_minute", "price_in", "price_out", "drafts")
    found = {name: getattr(writer, name) for name in names}
    return found | {"system": writer.system.name if writer.system else ""}
