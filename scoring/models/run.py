"""A scorer applied to a study: one row per thing to score, claimed in batches."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ScoringRun(models.Model):
    """What was asked for, and how far it is.

    `metric` names an entry of the registry and `options` its settings. Which scorer version that is turns out when a
    worker has opened the model; until then `scorer` is empty and there are no rows.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        RUNNING = "running", _("Running")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    UNFINISHED = (State.QUEUED, State.RUNNING)

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="scoring_runs")
    scorer = models.ForeignKey("scoring.Scorer", models.PROTECT, null=True, blank=True, related_name="runs")
    metric = models.CharField(max_length=60)
    options = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    filter = models.JSONField(default=dict)
    # Score again what this very scorer has scored already.
    again = models.BooleanField(default=False)
    n_rows = models.IntegerField(default=0)
    n_done = models.IntegerField(default=0)
    n_failed = models.IntegerField(default=0)
    message = models.TextField(blank=True, default="")
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # When the first row was claimed, and how many rows were settled by then: what the rate is reckoned from.
    working_since = models.DateTimeField(null=True, blank=True)
    n_settled_before = models.IntegerField(default=0)
    # When rows were last settled, or put back to be tried again.
    worked_at = models.DateTimeField(null=True, blank=True)
    # Workers that have begun to load the model since it was last loaded: those of them that are gone died of it.
    n_openings = models.PositiveSmallIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["study", "-id"], name="run_by_study"),
            models.Index(fields=["id"], condition=Q(state__in=("queued", "running")), name="run_unfinished"),
        ]

    @property
    def is_finished(self) -> bool:
        return self.state not in self.UNFINISHED

    @property
    def n_settled(self) -> int:
        return self.n_done + self.n_failed


class ScoringRow(models.Model):
    """One unit of a run. `length` (seconds of sound, or characters of text) forms even batches.

    `claim` names the worker that holds it: the number of an advisory lock that lives as long as that worker's
    connection. `fault` (a word for programs) and `reason` (a sentence) say why there is no score.
    """

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
    claim = models.BigIntegerField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    fault = models.CharField(max_length=40, blank=True, default="")
    reason = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "candidate", "other"], nulls_distinct=False, name="scoring_row_once"
            )
        ]
        indexes = [
            models.Index(fields=["run", "length"], condition=Q(state=1), name="scoring_row_waiting"),
            models.Index(fields=["run"], condition=Q(state=2), name="scoring_row_claimed"),
            models.Index(fields=["run", "id"], condition=Q(state=4), name="scoring_row_failed"),
        ]
