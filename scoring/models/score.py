"""A scorer version and the values it gave."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class Scorer(models.Model):
    """One version of a scorer: the digest covers code version, weights, prompt, preprocessing and dtype.

    `config` is what the digest was made of. `key` is the registry's name of the metric.
    """

    key = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    config = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.key}@{self.digest[:8]}"


class Score(models.Model):
    """What one scorer said of one candidate (or of a pair, when `other` is set). Hidden from raters.

    A scorer may have several outputs: one per question template, say. `distribution` holds the numbers behind the value
    (the two log-probabilities, the weights of five ratings), `provenance` what is true of this score alone (the text of
    a model's answer).
    """

    scorer = models.ForeignKey(Scorer, models.PROTECT, related_name="scores")
    candidate = models.ForeignKey("annotation.Candidate", models.CASCADE, related_name="scores")
    other = models.ForeignKey("annotation.Candidate", models.CASCADE, null=True, blank=True, related_name="+")
    output = models.CharField(max_length=40, default="value")
    value = models.FloatField(null=True)
    distribution = models.JSONField(null=True)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["scorer", "candidate", "other", "output"], nulls_distinct=False, name="score_once"
            )
        ]
