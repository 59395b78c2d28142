"""Release: an immutable, content-hashed dataset of a study."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Release(models.Model):
    """What was released stands for good; its file may be deleted, and made again from the manifest.

    `file` names the archive in the storage; empty once it was deleted.
    """

    study = models.ForeignKey("annotation.Study", models.PROTECT, related_name="releases")
    number = models.PositiveIntegerField()
    manifest = models.JSONField()
    sha256 = models.CharField(max_length=64)
    # What is other than in the release before, as `analytics.datasets.diff.diff_summary` tells it, or
    # that this is `unknown`.
    differences = models.JSONField(default=dict)
    file = models.CharField(max_length=300, blank=True, default="")
    file_bytes = models.BigIntegerField(default=0)
    file_sha256 = models.CharField(max_length=64, blank=True, default="")
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="release_number_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.number}"
