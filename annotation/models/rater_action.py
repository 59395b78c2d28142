"""What was done about a rater's work, by a rule or by a person, and what the rater is told of it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class RaterAction(models.Model):
    """One action. It can be reverted, once; the row stays. A rule acts once on a rater: what a person reverted is not
    done again by the same rule.

    rule: the key of the study's rule, empty where a person did it. reason: in words of whoever did it. evidence: the
    figures that the rule saw. state_before: what the rater's state goes back to. n_judgments: excluded by it.
    """

    class Kind(models.TextChoices):
        WARN = "warn", _("Warned")
        TRAINING = "training", _("Sent to training again")
        PAUSE = "pause", _("Paused")
        EXCLUDE = "exclude", _("Excluded from now on")
        EXCLUDE_ALL = "exclude_all", _("Excluded with all judgments")

    study = models.ForeignKey("annotation.Study", models.CASCADE, db_index=False, related_name="+")
    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="actions")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    rule = models.CharField(max_length=40, blank=True, default="")
    reason = models.CharField(max_length=200)
    evidence = models.JSONField(default=list)
    state_before = models.CharField(max_length=10)
    n_judgments = models.IntegerField(default=0)
    actor = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    reverted_at = models.DateTimeField(null=True)
    reverted_by = models.ForeignKey("annotation.User", models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rater", "rule", "kind"], condition=~Q(rule=""), name="rater_action_once_per_rule"
            )
        ]
        indexes = [models.Index(fields=["study", "-id"], name="rater_action_by_study")]

    @property
    def stands(self) -> bool:
        return self.reverted_at is None


class RaterNotice(models.Model):
    """What a rater is told about their work, in plain words, until they dismiss it. `text`: of the researcher, added to
    the sentence of its kind; notices are worded in the reader's language when they are shown."""

    class Kind(models.TextChoices):
        WARN = "warn"
        TRAINING = "training"
        PAUSE = "pause"
        EXCLUDE = "exclude"
        REINSTATED = "reinstated"

    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="notices", db_index=False)
    action = models.ForeignKey(RaterAction, models.CASCADE, null=True, related_name="notices")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    text = models.CharField(max_length=300, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    dismissed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["rater"], condition=Q(dismissed_at=None), name="rater_notice_open"),
        ]
