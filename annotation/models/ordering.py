"""Which tasks come first: the versions of a study's ordering, as assignments name them."""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class OrderingPolicy(models.Model):
    """One version of how tasks are chosen. It never changes: other settings, or priorities reckoned from another
    scorer, are another version.

    `settings` is all that decides a chance: the share drawn uniformly, from how many of the first the rest is drawn,
    and the weights that priorities were made with. `made_from` names the scorer version behind the priorities.
    """

    study = models.ForeignKey("annotation.Study", models.CASCADE, related_name="ordering_policies")
    number = models.PositiveIntegerField()
    settings = models.JSONField()
    made_from = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "ordering policies"
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="ordering_policy_number_once")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.number}"
