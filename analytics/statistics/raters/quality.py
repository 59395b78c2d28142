"""Figures of one rater's work: shares with intervals, use of the scale, straight-lining, speed, confidence.

Each is a function of one rater's answers in the order of time, and of what the others answered where it needs them. A
figure without anything to rest on is None: few answers are no verdict, so every figure comes with its number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.arrays import FloatArray
from analytics.statistics.intervals import wilson_interval

# Ratings are compared as on a scale from 1 to 5, whose length this is: other scales are stretched to it.
REFERENCE_WIDTH = 4.0


@dataclass(frozen=True)
class RaterShare:
    """`hits` of `n`, with Wilson's interval; without any, all three figures are None."""

    hits: int
    n: int
    value: float | None
    low: float | None
    high: float | None


def rater_share(hits: int, n: int, *, level: float = 0.95) -> RaterShare:
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is not a share")
    if not n:
        return RaterShare(0, 0, None, None, None)
    return RaterShare(hits, n, hits / n, *wilson_interval(hits, n, level=level))


def position_bias(first_shares: RaterShare) -> float | None:
    """How far choices follow the place where something is shown: 0 where each place is chosen as often, 1 where it is
    always the same one."""
    return None if first_shares.value is None else abs(2 * first_shares.value - 1)


@dataclass(frozen=True)
class ScaleUse:
    """n: ratings. variance: unbiased, as on a scale from 1 to 5; None below two. entropy: Shannon's, of the values in
    use, as a share of the greatest that the scale or the number of ratings allows; None below two."""

    n: int
    variance: float | None
    entropy: float | None


def scale_use(values: ArrayLike, *, width: float | None, points: int) -> ScaleUse:
    """`width`: from the lowest to the highest value, None where values have no distance. `points`: how many values
    there are; the entropy of a scale without points is that of ten equal parts (`points` 0 or 1)."""
    value = np.asarray(values, dtype=np.float64)
    n = len(value)
    if n < 2:
        return ScaleUse(n, None, None)
    variance = float(value.var(ddof=1)) * (REFERENCE_WIDTH / width) ** 2 if width else None
    if points < 2 and width:
        points, value = 10, np.floor((value - value.min()) / width * 10)
    counts = np.unique(value, return_counts=True)[1] / n
    greatest = math.log(min(n, max(points, 2)))
    entropy = max(0.0, -float((counts * np.log(counts)).sum())) / greatest
    return ScaleUse(n, variance, min(1.0, entropy))


_MOST_VALUES = 100


@dataclass(frozen=True)
class Run:
    """The longest series of equal answers in a row. counts: how often each of the answers was given, the
    hundred most frequent first."""

    length: int
    n: int
    counts: tuple[int, ...]

    @property
    def p(self) -> float | None:
        """The chance of one as long if the same number of answers were drawn independently, each as often as this rater
        gave it; None without answers. Takes time in proportion to their number."""
        if not self.counts:
            return None
        return chance_of_run(np.array(self.counts) / self.n, n=self.n, length=self.length)


def longest_run(answers: ArrayLike) -> Run:
    """Of answers in the order of time."""
    label = np.unique(np.asarray(answers), return_inverse=True)[1]
    n = len(label)
    if not n:
        return Run(0, 0, ())
    ends = np.flatnonzero(np.append(np.diff(label) != 0, True))
    length = int(np.diff(ends, prepend=-1).max())
    return Run(length, n, tuple(np.sort(np.bincount(label))[::-1][:_MOST_VALUES].tolist()))


def chance_of_run(shares: ArrayLike, *, n: int, length: int) -> float:
    """The chance that n independent draws with these shares hold a run of `length` or more equal ones.

    Exact: with g(k) the chance that k draws hold none, and f_v(k) that of none in k draws whose last is v,
        f_v(k) = sum over r = 1 … length-1 of p_v^r (g(k - r) - f_v(k - r)),   g(k) = sum_v f_v(k),   g(0) = 1,
    as the last r are a run of v that began after another value. The sum over r is carried from k to k + 1, so
    the time is n times the number of values.
    """
    p = np.asarray(shares, dtype=np.float64)
    p = p[p > 0]
    if length <= 1:
        return 1.0 if n >= length else 0.0
    if length > n:
        return 0.0
    none = np.zeros(n + 1)
    none[0] = 1.0
    ending = np.zeros((n + 1, len(p)))
    carried = np.zeros(len(p))
    dropped = p ** (length - 1)
    for k in range(1, n + 1):
        carried = p * (carried + none[k - 1] - ending[k - 1])
        if k >= length:
            carried = carried - dropped * p * (none[k - length] - ending[k - length])
        ending[k] = carried
        none[k] = ending[k].sum()
    return float(min(1.0, max(0.0, 1.0 - none[n])))


@dataclass(frozen=True)
class Speed:
    """n: judgments with a time. seconds: the median. hasty: the share of judgments with sound given in less time than
    half of the sound takes; heard: the median share of the sound that was played, where a log says so."""

    n: int
    seconds: float | None
    hasty: RaterShare
    heard: float | None
    n_heard: int


# Nobody has listened who answers in less than this part of the time that the sound takes.
HASTY_SHARE = 0.5


def speed(seconds: ArrayLike, *, sound: ArrayLike, heard: ArrayLike) -> Speed:
    """By judgment: seconds from first sight to the answer, seconds of sound to judge, seconds of it that were played.
    NaN where it was not measured, 0 seconds of sound where there is none."""
    taken, sounds, played = (np.asarray(column, dtype=np.float64) for column in (seconds, sound, heard))
    timed = np.isfinite(taken)
    with_sound = timed & (sounds > 0)
    logged = np.isfinite(played) & (sounds > 0)
    shares = np.minimum(1.0, played[logged] / sounds[logged])
    return Speed(
        n=int(timed.sum()),
        seconds=float(np.median(taken[timed])) if timed.any() else None,
        hasty=rater_share(
            int((taken[with_sound] < HASTY_SHARE * sounds[with_sound]).sum()), int(with_sound.sum())
        ),
        heard=float(np.median(shares)) if logged.any() else None,
        n_heard=int(logged.sum()),
    )


@dataclass(frozen=True)
class Calibration:
    """n: answers with a confidence and others to compare with. confidence, agreement: the means of both, from 0 to 1.
    gap: the first less the second, above 0 for who is surer than right. discrimination: the chance that of two answers
    of which one agrees with the others more, that one was given with more confidence (Somers, half for a tie); None
    where no two differ."""

    n: int
    confidence: float | None
    agreement: float | None
    gap: float | None
    discrimination: float | None


def calibration(confidence: ArrayLike, agreement: ArrayLike) -> Calibration:
    """By answer: the confidence and the share of the others who gave the same answer, both from 0 to 1."""
    sure, agrees = (np.asarray(column, dtype=np.float64) for column in (confidence, agreement))
    known = np.isfinite(sure) & np.isfinite(agrees)
    sure, agrees = sure[known], agrees[known]
    if not len(sure):
        return Calibration(0, None, None, None, None)
    means = float(sure.mean()), float(agrees.mean())
    return Calibration(len(sure), *means, means[0] - means[1], _concordance(sure, agrees))


# Of more answers than this, the latest decide: pairs grow with the square.
_MOST_PAIRED = 300


def _concordance(sure: FloatArray, agrees: FloatArray) -> float | None:
    sure, agrees = sure[-_MOST_PAIRED:], agrees[-_MOST_PAIRED:]
    apart = np.sign(agrees[:, None] - agrees[None, :])
    differing = apart != 0
    if not differing.any():
        return None
    agreement = np.sign(sure[:, None] - sure[None, :]) * apart
    return float(((agreement[differing] + 1) / 2).mean())
