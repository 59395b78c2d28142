"""High-water marks of the sweeps that look at what is new in a study."""

from __future__ import annotations

from django.db import models


class Mark(models.Model):
    """How far something has been looked at, by source.

    All rows with ids up to `seen` have been looked at. Ids are given out before they are committed, so the highest id
    in sight says little: `ahead` is as far as a sweep saw, and becomes `seen` after a sweep that looked when every
    transaction that was open then (those before `ahead_until`) had ended.
    """

    seen = models.JSONField(default=dict)
    ahead = models.JSONField(default=dict)
    ahead_until = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class SweepMark(Mark):
    """How far a sweep has looked at a study's votes and whatever else it rests on."""

    study = models.OneToOneField("annotation.Study", models.CASCADE, primary_key=True, related_name="+")
    swept_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class FlagSweep(SweepMark):
    """Of the flag rules."""


class StoppingSweep(SweepMark):
    """Of the rule that asks for more votes on pairs that are undecided, with how many it has asked for so far."""

    n_asked = models.BigIntegerField(default=0)
