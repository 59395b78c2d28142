"""A scorer applied to a study: one row per thing to score, claimed in batches."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ScoringRun(models.Model):
    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="scoring_runs")
    scorer = models.ForeignKey("scoring.Scorer", models.PROTECT, related_name="runs")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    filter = models.JSONField(default=dict)
    n_rows = models.IntegerField(default=0)
    n_done = models.IntegerField(default=0)
    n_failed = models.IntegerField(default=0)
    message = models.TextField(blank=True, default="")
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)


class ScoringRow(models.Model):
    """One unit of a run. `length` (seconds or characters) forms even batches; `reason` says why there is no score."""

    class State(models.IntegerChoices):
        WAITING = 1, _("Waiting")
        CLAIMED = 2, _("Claimed")
        DONE = 3, _("Done")
        FAILED = 4, _("Failed")

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="rows")
    candidate = models.ForeignKey("annotation.Candidate", models.CASCADE, related_name="+")
    other = models.ForeignKey("annotation.Candidate", models.CASCADE, null=True, blank=True, related_name="+")
    length = models.FloatField(default=0.0)
    state = models.PositiveSmallIntegerField(choices=State.choices, default=State.WAITING)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    reason = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "candidate", "other"], nulls_distinct=False, name="scoring_row_once"
            )
        ]
        indexes = [models.Index(fields=["run", "length"], condition=Q(state=1), name="scoring_row_waiting")]
