"""Clips, addressed by the hash of the original file, and the listening checks that raters took."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Clip(models.Model):
    """One decodable piece of audio. The same bytes are one clip, however many studies use them.

    Loudness (LUFS) and true peak (dBTP) are None where they are undefined: silence, or less than one gating block.
    """

    sha256 = models.CharField(max_length=64, unique=True)
    canonical_sha256 = models.CharField(max_length=64)
    original = models.FileField(max_length=200)
    canonical = models.FileField(max_length=200)
    source_codec = models.CharField(max_length=40)
    source_sample_rate = models.PositiveIntegerField()
    channels = models.PositiveSmallIntegerField()
    n_samples = models.BigIntegerField()
    duration_s = models.FloatField()
    n_bytes = models.BigIntegerField()
    silent = models.BooleanField(default=False)
    loudness_lufs = models.FloatField(null=True, blank=True)
    true_peak_dbtp = models.FloatField(null=True, blank=True)
    # Pairs of signed bytes (lowest, highest) per column, 127 = full scale.
    peaks = models.BinaryField()
    # Where in the canonical file each part's first frame begins, then where the last frame ends (audio/parts.py).
    part_offsets = ArrayField(models.BigIntegerField(), default=list)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.sha256[:12]} ({self.duration_s:.1f} s)"


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
