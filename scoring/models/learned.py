"""Models trained on a study's votes: what was asked for, how it went and what came of it."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class LearnedModel(models.Model):
    """One version of a model of a study. Its job says how far it is and why it failed.

    `kind` names an entry of the training catalogue and `options` its settings; `plan` is what else was asked for (how
    votes are split, how often the training is repeated). `curves` are points by name, [[step, value], …], written
    while it trains. `record` is the training record: data hash, seeds, configuration, figures, hardware, wall time.
    `folder`, below the folder of learned models, holds the checkpoint; `scorer` is the version that it opens as.

    `promoted_at`: since when it has been the study's scorer of its kind; empty for one that is not, or no longer.
    """

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="learned_models")
    kind = models.CharField(max_length=20)
    number = models.PositiveIntegerField()
    options = models.JSONField(default=dict)
    plan = models.JSONField(default=dict)
    job = models.OneToOneField("annotation.Job", models.PROTECT, related_name="learned_model")
    curves = models.JSONField(default=dict)
    record = models.JSONField(default=dict)
    folder = models.CharField(max_length=200, blank=True, default="")
    scorer = models.ForeignKey(
        "scoring.Scorer", models.PROTECT, null=True, blank=True, related_name="learned_models"
    )
    promoted_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "kind", "number"], name="learned_model_number_once"),
            models.UniqueConstraint(
                fields=["study", "kind"],
                condition=models.Q(promoted_at__isnull=False),
                name="learned_model_one_promoted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"
