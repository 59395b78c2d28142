"""Inviting people, changing roles, pausing and excluding raters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.models import Exclusion, Rater
from annotation.models.people import RATING_ROLES, Role

ROLES = {
    Role.ANNOTATOR: _("Annotator: rates"),
    Role.EXPERT: _("Expert: rates, and reviews what annotators disagree about"),
    Role.RESEARCHER: _("Researcher: runs the study, does not rate"),
    Role.ADMIN: _("Admin: a researcher who can also change roles"),
}


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), initial=Role.ANNOTATOR)
    max_uses = forms.IntegerField(label=_("Number of people"), initial=1, min_value=1, max_value=10_000)
    days = forms.IntegerField(label=_("Days it stays open"), initial=14, min_value=1, max_value=365)

    def __init__(self, *args: Any, grants_any_role: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        roles = Role if grants_any_role else RATING_ROLES
        self.fields["role"].choices = [(role, ROLES[role]) for role in roles]


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=_("Role"), choices=list(ROLES.items()), widget=forms.RadioSelect)


class RaterStateForm(forms.Form):
    state = forms.ChoiceField(
        label=_("State"),
        choices=[
            (Rater.State.ACTIVE, _("Active: gets tasks")),
            (Rater.State.PAUSED, _("Paused: gets no tasks for now")),
            (Rater.State.EXCLUDED, _("Excluded: gets no tasks any more")),
        ],
        widget=forms.RadioSelect,
    )
    reason = forms.CharField(label=_("Reason"), max_length=2000, help_text=_("Kept in the study's log."))


class RaterJudgmentsForm(forms.Form):
    action = forms.ChoiceField(choices=Exclusion.Action.choices, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Reason"), max_length=40, help_text=_("A word or two, such as “did not listen”.")
    )
    comment = forms.CharField(label=_("Comment"), required=False, max_length=2000)
