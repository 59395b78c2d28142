"""Audit log: who did what, when. Append-only (trigger)."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class AuditEvent(models.Model):
    """Votes are not repeated here: judgments are append-only and carry their own author and time."""

    at = models.DateTimeField(default=timezone.now)
    actor = models.ForeignKey("annotation.User", models.PROTECT, null=True, related_name="+")
    study = models.ForeignKey("annotation.Study", models.PROTECT, null=True, related_name="+", db_index=False)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=120, blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [models.Index(fields=["study", "-id"], name="audit_by_study")]
