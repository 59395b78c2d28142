"""Making a workspace, changing it, and moving a study into one or out of one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation import access
from annotation.models import Study, User, Workspace
from annotation.models.people import MANAGING_ROLES
from annotation.studies.workspaces import RESERVED_SLUGS


class WorkspaceForm(forms.Form):
    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("The people of the workspace see it.")
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        max_length=20_000,
        help_text=_("Whoever is invited sees it, too."),
        widget=forms.Textarea({"rows": 3}),
    )


class NewWorkspaceForm(WorkspaceForm):
    slug = forms.SlugField(
        label=_("Address"),
        max_length=80,
        help_text=_(
            "Part of the workspace's links: letters, digits and hyphens. It cannot be changed later."
        ),
    )

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in RESERVED_SLUGS:
            raise forms.ValidationError(_("A page of Concord uses this address. Choose another one."))
        return slug


class MoveStudyForm(forms.Form):
    """For admins of the study, and of the workspace that it is in."""

    workspace = forms.ModelChoiceField(
        Workspace.objects.none(),
        label=_("Move it to"),
        required=False,
        to_field_name="slug",
        empty_label=_("No workspace"),
        help_text=_(
            "Who takes part through the former workspace alone leaves the study, and their open tasks go back; the "
            "people of the new one take part at once. Roles that the study gave itself stay, and so do judgments."
        ),
    )

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, initial={"workspace": study.workspace}, **kwargs)
        self.fields["workspace"].queryset = access.administered_workspaces(user).order_by("title", "pk")

    @classmethod
    def offered(cls, study: Study, user: User) -> MoveStudyForm | None:
        """None where this account cannot move the study anywhere."""
        if not access.administers(user, study):
            return None
        if study.workspace is not None and not access.administers_workspace(user, study.workspace):
            return None
        form = cls(study=study, user=user)
        return form if form.fields["workspace"].queryset.exists() else None


def workspace_address(workspace: Workspace | None, user: User) -> str:
    """Of its page, for those who may open it."""
    if workspace is None:
        return ""
    runs = access.workspaces_of(user).filter(pk=workspace.pk, role__in=MANAGING_ROLES)
    return reverse("workspace", args=[workspace.slug]) if runs.exists() else ""
