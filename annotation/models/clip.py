"""Clip: an audio asset, addressed by the hash of the original file."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone


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
