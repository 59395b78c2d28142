"""An immutable, content-hashed export of a study."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Release(models.Model):
    study = models.ForeignKey("annotation.Study", models.PROTECT, related_name="releases")
    number = models.PositiveIntegerField()
    manifest = models.JSONField()
    sha256 = models.CharField(max_length=64)
    folder = models.CharField(max_length=300)
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="release_number_once_per_study")
        ]
