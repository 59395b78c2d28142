"""Forms of panel links, returned places and bonuses."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import PanelLink
from annotation.panels.links import CODES, FIELDS
from annotation.panels.payments import MAX_BONUS
from annotation.panels.rules import KINDS

_QUOTA_LINE = re.compile(r"\s*(?P<field>[^=:]+?)\s*=\s*(?P<value>.+?)\s*:\s*(?P<places>\d{1,7})\s*")


class QuotasField(forms.CharField):
    """Quotas as lines: `gender = female: 20`."""

    widget = forms.Textarea({"rows": 3, "spellcheck": "false"})

    def clean(self, value: Any) -> list[dict[str, Any]]:
        quotas = []
        for line in filter(str.strip, str(super().clean(value) or "").splitlines()):
            match = _QUOTA_LINE.fullmatch(line)
            if match is None:
                raise forms.ValidationError(
                    _("This line is no quota: %(line)s. Write it like: gender = female: 20"),
                    params={"line": line},
                )
            quotas.append({**match.groupdict(), "places": int(match["places"])})
        return quotas

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return "\n".join(f"{quota['field']} = {quota['value']}: {quota['places']}" for quota in value)
        return value


class NamesField(forms.CharField):
    """Names of URL parameters, with commas or blanks between them."""

    def clean(self, value: Any) -> list[str]:
        return re.split(r"[\s,]+", str(super().clean(value) or "").strip(", \n")) if value else []

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value


class NewLinkForm(forms.Form):
    name = forms.CharField(
        label=_("Name of the link"), max_length=100, help_text=_("Only you see it, such as “Prolific, UK”.")
    )
    panel = forms.ChoiceField(
        label=_("Panel"), choices=PanelLink.Panel.choices, widget=forms.RadioSelect, initial="prolific"
    )


class LinkForm(forms.Form):
    name = forms.CharField(label=_("Name of the link"), max_length=100)
    is_open = forms.BooleanField(
        label=_("New participants may begin"),
        required=False,
        help_text=_("Those who have begun can always finish and get their code."),
    )
    completed_code = forms.CharField(
        label=_("Completed"), required=False, max_length=500, help_text=_("After the last task of a batch.")
    )
    screened_out_code = forms.CharField(
        label=_("Screened out"),
        required=False,
        max_length=500,
        help_text=_("When every place is taken, or somebody does not pass the steps before the work."),
    )
    failed_quality_code = forms.CharField(
        label=_("Failed quality checks"),
        required=False,
        max_length=500,
        help_text=_("When you, or a rule, pause or exclude somebody."),
    )
    no_consent_code = forms.CharField(
        label=_("No consent"),
        required=False,
        max_length=500,
        help_text=_("When somebody declines to take part."),
    )
    batch_size = forms.IntegerField(
        label=_("Tasks in a batch"),
        required=False,
        min_value=1,
        max_value=10_000,
        help_text=_("After so many answers comes the code. Leave it empty to go on while there are tasks."),
    )
    max_batches = forms.IntegerField(
        label=_("Batches that one participant may do"), min_value=1, max_value=1000
    )
    places = forms.IntegerField(
        label=_("Places"),
        required=False,
        min_value=1,
        max_value=1_000_000,
        help_text=_(
            "Participants at work or done. Whoever comes when all are taken is sent back before any work."
        ),
    )
    quotas = QuotasField(
        label=_("Quotas"),
        required=False,
        help_text=_(
            "One a line, by a URL parameter that you record or by a question about themselves: “gender = female: 20”. "
            "“*” stands for every other value."
        ),
    )
    stratum_quotas = QuotasField(
        label=_("Tasks of a stratum in a batch"),
        required=False,
        help_text=_(
            "One a line, by a stratum of the items: “category = speech: 10”. A participant gets no more of them in a "
            "batch."
        ),
    )
    idle_minutes = forms.IntegerField(
        label=_("Minutes without a sign of life until a place is free again"), min_value=5, max_value=10_080
    )
    limit_minutes = forms.IntegerField(
        label=_("Minutes for a batch"),
        min_value=0,
        max_value=10_080,
        help_text=_("The panel’s own limit. 0 for none."),
    )
    may_return = forms.BooleanField(
        label=_("Whoever has returned their place may come again"), required=False
    )
    id_parameter = forms.CharField(
        label=_("URL parameter that names the participant"),
        max_length=60,
        widget=forms.TextInput({"spellcheck": "false"}),
    )
    recorded_parameters = NamesField(
        label=_("URL parameters to record"),
        required=False,
        help_text=_("With commas between them. What you do not name is never stored."),
        widget=forms.TextInput({"spellcheck": "false"}),
    )
    signature_parameter = forms.CharField(
        label=_("URL parameter with a signature"),
        required=False,
        max_length=60,
        help_text=_(
            "For a panel that signs its links: HMAC-SHA256 of the participant’s id, as hexadecimal. Without it, "
            "whoever knows an id can open its link."
        ),
        widget=forms.TextInput({"spellcheck": "false"}),
    )
    reward = forms.DecimalField(
        label=_("Reward for a batch"),
        required=False,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        help_text=_("For your payment table. The panel pays it."),
    )
    currency = forms.RegexField(
        r"^[A-Za-z]{3}$", label=_("Currency"), required=False, help_text=_("Three letters, such as GBP.")
    )

    def __init__(self, data: Any = None, *, link: PanelLink) -> None:
        super().__init__(data, initial={name: getattr(link, name) for name in FIELDS})
        self.link = link
        kind = KINDS[link.panel]
        if link.panel == PanelLink.Panel.MTURK:
            for name in CODES:
                del self.fields[name]  # its workers send a form, and type no code
        if link.panel != PanelLink.Panel.OTHER:
            self.fields["id_parameter"].disabled = True
        for name in CODES:
            if name in self.fields:
                self.fields[name].widget.attrs |= {"spellcheck": "false", "autocomplete": "off"}
        self.takes_codes = bool(kind.address) or link.panel == PanelLink.Panel.OTHER

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.cleaned_data)

    @property
    def codes(self) -> list[forms.BoundField]:
        return [self[name] for name in CODES if name in self.fields]


class ReturnsForm(forms.Form):
    ids = forms.CharField(
        label=_("Participant ids"),
        help_text=_("Of those who returned their submission in the panel, one a line."),
        widget=forms.Textarea({"rows": 3, "spellcheck": "false"}),
        max_length=100_000,
    )

    def clean_ids(self) -> list[str]:
        return re.split(r"[\s,;]+", str(self.cleaned_data["ids"]).strip())


class BonusForm(forms.Form):
    bonus = forms.DecimalField(min_value=0, max_value=MAX_BONUS, decimal_places=2)
    note = forms.CharField(max_length=300, required=False)
