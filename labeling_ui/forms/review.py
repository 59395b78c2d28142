"""The review queue's filters, saved views, and whom cases are given to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.errors import InvalidInput
from annotation.models import Membership, ReviewCase, Study
from annotation.models.people import Role
from annotation.services.case_queue import UNRESOLVED, Filters
from labeling_ui.forms.problems import add_problems
from labeling_ui.review_words import RULES

STATES = [
    (ReviewCase.State.OPEN, _("Open")),
    (ReviewCase.State.CLAIMED, _("Somebody is at it")),
    (ReviewCase.State.RETURNED, _("Waiting for raters")),
    (UNRESOLVED, _("All that is unresolved")),
    (ReviewCase.State.RESOLVED, _("Resolved")),
]


class QueueForm(forms.Form):
    """What to show of the queue, from the address of the page. A stratum's field is named `strata.category`."""

    state = forms.ChoiceField(label=_("State"), required=False, choices=STATES)
    rule = forms.ChoiceField(label=_("Rule that fired"), required=False)
    assigned = forms.ChoiceField(label=_("Given to"), required=False)
    text = forms.CharField(
        label=_("Words of name or text"),
        required=False,
        max_length=200,
        widget=forms.TextInput({"type": "search"}),
    )

    def __init__(
        self, data: Any, *, strata: Iterable[tuple[str, str]], experts: Iterable[tuple[str, str]]
    ) -> None:
        super().__init__(data, auto_id="queue_%s")
        self.fields["rule"].choices = [("", _("Any")), *((key, words[0]) for key, words in RULES.items())]
        people = [("", _("Anybody or nobody")), ("me", _("Me")), ("nobody", _("Nobody")), *experts]
        self.fields["assigned"].choices = people
        values: dict[str, list[str]] = {}
        for name, value in strata:
            values.setdefault(name, []).append(value)
        for name, found in values.items():
            choices = [("", _("Any")), *((value, value) for value in found)]
            self.fields[f"strata.{name}"] = forms.ChoiceField(label=name, required=False, choices=choices)

    @property
    def filters(self) -> Filters:
        """What was asked for; where that makes no sense, the queue as it is, and the form says what is wrong."""
        if not self.is_valid():
            return Filters()
        try:
            return Filters.of(self.cleaned_data)
        except InvalidInput as error:
            add_problems(self, error)
            return Filters()


def query_of(filters: Filters) -> str:
    """The part of an address that shows this again; empty for the queue as it is."""
    query = filters.as_query()
    return urlencode({name: value for name, value in query.items() if (name, value) != ("state", "open")})


class SaveViewForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=80)
    shared = forms.BooleanField(label=_("Everybody who reviews here sees it"), required=False)


class AssignForm(forms.Form):
    """Cases and the expert they go to; nobody stands for taking them back."""

    expert = forms.ChoiceField(label=_("Give the chosen cases to"))
    cases = forms.TypedMultipleChoiceField(coerce=int, widget=forms.MultipleHiddenInput)

    def __init__(self, data: Any, *, experts: Iterable[tuple[str, str]]) -> None:
        super().__init__(data, auto_id="assign_%s")
        self.fields["expert"].choices = [*experts, ("nobody", _("Nobody"))]
        given = data.getlist("cases") if data else []
        self.fields["cases"].choices = [(one, one) for one in given if one.isdecimal()]


def experts_of(study: Study) -> list[tuple[str, str]]:
    """E-mail address and name of each expert of a study."""
    members = Membership.objects.filter(study=study, role=Role.EXPERT).select_related("user")
    return [(one.user.email, str(one.user)) for one in members.order_by("user__name", "user__email")]
