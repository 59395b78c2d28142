"""Loudness matching: clips that are compared are played at one loudness, by gain alone.

The louder of two equal recordings is the one people prefer, so loudness is taken out of the comparison: every clip of
a task is played at one integrated loudness (ITU-R BS.1770), -23 LUFS as in EBU R 128. Generated music is mostly far
louder than that, so most gains attenuate. No gain may bring a true peak above -1 dBTP (R 128 again); where a clip
cannot reach the target under it, the target of the whole task is lowered to what that clip can reach. Nothing is
limited or compressed, and nothing is ever matched by its peaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

TARGET_LUFS = -23.0
HIGHEST_PEAK_DBTP = -1.0
# How far apart two matched clips may be: the tolerance of R 128's quality control, below what listeners notice.
TOLERANCE_LU = 0.2


@dataclass(frozen=True)
class ClipLevel:
    """What was measured of a clip, mono as it is heard in both ears; None where undefined (see `audio.ingest`)."""

    loudness_lufs: float | None
    true_peak_dbtp: float | None

    @property
    def headroom(self) -> float:
        """The highest gain in dB that keeps the true peak where it may be; unlimited for digital silence."""
        return math.inf if self.true_peak_dbtp is None else HIGHEST_PEAK_DBTP - self.true_peak_dbtp


def matching_gains(levels: Sequence[ClipLevel], *, match: bool = True) -> list[float]:
    """The gain in dB of each clip of one task; all zero where loudness itself is judged (`match` is False).

    A clip without a loudness (silent, or shorter than one gating block of 400 ms) has nothing to be matched by: it
    gets the lowest gain of the others and is never amplified, so that it cannot startle and noise is not dug up.
    """
    if not match:
        return [0.0 for _ in levels]
    target = min([TARGET_LUFS, *(_reach(level) for level in levels)])
    measured = [target - level.loudness_lufs for level in levels if level.loudness_lufs is not None]
    cautious = min([0.0, *measured])
    return [_rounded(min(_gain(level, target, otherwise=cautious), level.headroom)) for level in levels]


def _reach(level: ClipLevel) -> float:
    """The loudness at which the clip's true peak is as high as it may be."""
    return math.inf if level.loudness_lufs is None else level.loudness_lufs + level.headroom


def _gain(level: ClipLevel, target: float, *, otherwise: float) -> float:
    return otherwise if level.loudness_lufs is None else target - level.loudness_lufs


def _rounded(gain: float) -> float:
    """To a hundredth of a decibel, downwards: rounding must not lift a peak."""
    return math.floor(round(gain * 100, 6)) / 100
