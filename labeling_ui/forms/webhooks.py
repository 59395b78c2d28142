"""Which address hears what of a study."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Webhook


class WebhookForm(forms.Form):
    address = forms.CharField(
        label=_("Address"),
        max_length=2000,
        widget=forms.URLInput(
            attrs={"placeholder": "https://", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_("Requests are sent here, each with one event."),
    )
    description = forms.CharField(label=_("Description"), max_length=200, required=False)
    events = forms.CharField(
        label=_("Events"),
        initial="*",
        max_length=2000,
        help_text=_(
            "Names or patterns, separated by commas: judgment.*, study.state_changed. * stands for all."
        ),
    )
    with_answers = forms.BooleanField(
        label=_("Send the answers, too"),
        required=False,
        help_text=_(
            "Otherwise events of judgments say which task and which pseudonym, and nothing of what was said."
        ),
    )

    def clean_events(self) -> list[str]:
        text: str = self.cleaned_data["events"]
        return [pattern.strip() for pattern in text.replace("\n", ",").split(",") if pattern.strip()]


class WebhookChangeForm(WebhookForm):
    active = forms.BooleanField(
        label=_("Switched on"),
        required=False,
        help_text=_("While it is off nothing is collected, and what happens meanwhile is not made up for."),
    )

    @classmethod
    def initial_of(cls, webhook: Webhook) -> dict[str, Any]:
        values = {name: getattr(webhook, name) for name in cls.base_fields}
        return {**values, "events": ", ".join(webhook.events)}
