"""What a new token is for, what it may do, and until when."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation import access
from annotation.models import User
from annotation.models.api_token import Scope
from annotation.services.api_tokens import MOST_DAYS

SCOPES = {
    Scope.READ: _("Read: see what you can see, and change nothing"),
    Scope.RATE: _("Rate: fetch tasks and answer them in your name"),
    Scope.REVIEW: _("Review: claim cases and decide them in your name"),
    Scope.MANAGE: _("Manage: everything else, such as importing, inviting, starting runs and exporting"),
}


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("What it is for"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=_("So that you know later which program uses it."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("What it may do"),
        choices=[*SCOPES.items()],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Never more than you may do yourself. None of these includes another."),
    )
    studies = forms.MultipleChoiceField(
        label=_("Only in these studies"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Choose none for all you take part in, those included that you join later."),
    )
    days = forms.IntegerField(label=_("Days until it ends"), initial=90, min_value=1, max_value=MOST_DAYS)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        studies = access.studies_of(user).order_by("title").values_list("slug", "title")
        self.fields["studies"].choices = [*studies]

    def clean_studies(self) -> list[str] | None:
        return self.cleaned_data["studies"] or None
