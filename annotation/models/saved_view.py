"""Saved views of a study's lists: the review queue, and the tables of its data."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class SavedView(models.Model):
    """A set of filters under a name; shared ones are everybody's who sees the list."""

    class Page(models.TextChoices):
        REVIEW = "review", _("Review queue")
        ITEMS = "items", _("Items")
        TASKS = "tasks", _("Tasks")
        JUDGMENTS = "judgments", _("Judgments")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="saved_views")
    owner = models.ForeignKey("annotation.User", models.CASCADE, related_name="+")
    page = models.CharField(max_length=10, choices=Page.choices, default=Page.REVIEW)
    name = models.CharField(max_length=80)
    filters = models.JSONField(default=dict)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "owner", "page", "name"], name="view_name_once_per_owner"
            )
        ]
