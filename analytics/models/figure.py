"""Figures computed in the background, so that opening a page never recomputes."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class AgreementFigure(models.Model):
    """The latest agreement of one question of one study; `result` is what `manage.py agreement` prints for it."""

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="agreement_figures")
    question_key = models.CharField(max_length=40)
    result = models.JSONField()
    # The last judgment and exclusion seen: the figure is stale when there are later ones.
    horizon = models.CharField(max_length=60)
    computed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "question_key"], name="agreement_figure_once")]
