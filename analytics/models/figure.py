"""Cached figures: computed in the background, so that no page recomputes them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class AgreementFigure(models.Model):
    """The latest agreement of one question of one study; `result` is what `manage.py agreement` prints for it."""

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="agreement_figures")
    question_key = models.CharField(max_length=40)
    result = models.JSONField()
    # A digest of what the figure was computed from; it is stale once `analytics.overview.figures` finds another.
    horizon = models.CharField(max_length=60)
    computed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "question_key"], name="agreement_figure_once")
        ]


class StudyFigure(models.Model):
    """Everything else that a page about a study shows and that takes a scan to know."""

    class Kind(models.TextChoices):
        OVERVIEW = "overview"

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="figures")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    result = models.JSONField()
    horizon = models.CharField(max_length=60)
    # How long computing took; a study that takes long is computed less often.
    seconds = models.FloatField()
    computed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "kind"], name="study_figure_once_per_kind")]
