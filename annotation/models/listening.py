"""Listening checks that raters took: level setting and headphone screening."""

from __future__ import annotations

import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class ListeningCheck(models.Model):
    """One run of one check by one rater. `trials` holds the keys and the answers; the keys never reach the browser."""

    class Kind(models.TextChoices):
        LEVEL = "level", _("Level setting")
        LEFT_RIGHT = "left_right", _("Left and right")
        ANTIPHASE = "antiphase", _("Headphones: the quietest tone")
        HUGGINS = "huggins", _("Headphones: the hidden tone")

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        PASSED = "passed", _("Passed")
        FAILED = "failed", _("Failed")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    rater = models.ForeignKey("annotation.Rater", models.CASCADE, related_name="listening_checks")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    trials = models.JSONField(default=list)
    n_correct = models.PositiveSmallIntegerField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["rater", "kind", "-finished_at"], name="listening_check_latest")]
