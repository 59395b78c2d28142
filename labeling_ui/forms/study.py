"""Making a study and changing its settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.protocols import Protocol, preset, preset_keys

# Addresses under /studies/ that are pages of their own.
RESERVED = {"new", "from-files"}


@dataclass(frozen=True)
class PresetCard:
    """A preset as somebody choosing among them needs it; `what` is how its guidelines begin."""

    key: str
    title: str
    what: str
    source: str
    chosen: bool


class NewStudyForm(forms.Form):
    title = forms.CharField(
        label=_("Title"),
        max_length=200,
        help_text=_("Raters see it."),
        widget=forms.TextInput({"autofocus": True}),
    )
    slug = forms.SlugField(
        label=_("Address"),
        max_length=80,
        help_text=_("Part of the study's links: letters, digits and hyphens. It cannot be changed later."),
    )
    preset = forms.ChoiceField(label=_("What raters are asked"), widget=forms.RadioSelect)
    overlap = forms.IntegerField(
        label=_("Judgments wanted per task"),
        initial=3,
        min_value=1,
        max_value=1000,
        help_text=_("By so many different raters. Agreement needs at least two."),
    )
    order = forms.ChoiceField(
        label=_("Order of tasks"),
        initial=Study.Order.SHUFFLED,
        choices=[
            (Study.Order.SHUFFLED, _("Shuffled: every rater starts somewhere else")),
            (Study.Order.LISTED, _("As listed: every rater starts at the first item")),
        ],
        widget=forms.RadioSelect,
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes to finish a task"),
        initial=15,
        min_value=1,
        max_value=600,
        help_text=_(
            "Then the task goes to somebody else. An answer that comes later is kept, but may not count."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["preset"].choices = [(key, _title(preset(key))) for key in preset_keys()]
        self.fields["preset"].initial = "cmi-pref"

    def cards(self) -> Iterator[PresetCard]:
        language = get_language() or "en"
        for key in preset_keys():
            protocol = preset(key)
            beginning = protocol.guidelines.in_language(language).partition("\n\n")[0]
            yield PresetCard(key, _title(protocol), beginning, protocol.source, self["preset"].value() == key)

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED:
            raise forms.ValidationError(_("This address is taken by a page of Concord; choose another."))
        return slug


class SettingsForm(forms.Form):
    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Raters see it."))
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=20_000,
        help_text=_("Raters see it among their studies and on the invitation."),
        widget=forms.Textarea({"rows": 4}),
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes to finish a task"),
        min_value=1,
        max_value=600,
        help_text=_("Holds for tasks handed out from now on."),
    )


def _title(protocol: Protocol) -> str:
    return protocol.title.in_language(get_language() or "en")
