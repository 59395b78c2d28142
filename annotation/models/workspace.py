"""Workspaces: studies and people grouped. What a person may do in a study stays in its memberships."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.models.people import Role, User


class Workspace(models.Model):
    """Studies and people that belong together. A study is in one workspace at the most (`Study.workspace`)."""

    slug = models.SlugField(max_length=80, unique=True)
    title = models.CharField(_("title"), max_length=200)
    description = models.TextField(_("description"), blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return self.title


class WorkspaceMembership(models.Model):
    """The role that one account has in the studies of a workspace, unless a study gives it another."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="workspace_memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="workspace_membership_one_role")
        ]
