"""How far people agree with themselves: a rater's repeated answers about the same unit.

Low agreement between raters who each agree with themselves is a matter of taste or of the question; low agreement with
oneself is a matter of care.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.agreement import Agreement, IntervalSettings, krippendorff_alpha, symmetric_alpha
from analytics.statistics.columns import numbers
from analytics.statistics.levels import AnyLevel
from analytics.statistics.patterns import Patterns, patterns_from_long
from analytics.statistics.percent_agreement import percent_agreement

NO_REPEATS = "no_repeats"


@dataclass(frozen=True)
class SelfConsistency:
    """equal: the share of equal ones among all pairs of a rater's answers about one unit. alpha: of these answers.

    repeated: how many units were answered about twice or more, counted once for each rater who did so.
    raters: how many of them did. reason: code in `reasons.SENTENCES` when `equal` is None.
    """

    equal: float | None
    alpha: Agreement
    pairs: int
    repeated: int
    raters: int
    reason: str | None


def self_consistency(
    units: ArrayLike,
    raters: ArrayLike,
    values: ArrayLike,
    *,
    level: AnyLevel,
    interval: IntervalSettings | None = None,
) -> SelfConsistency:
    """From columns with one row per answer; a NaN or None among the values is a missing one.

    With an interval by clusters, a cluster is a rater with all they repeated.
    """
    unit, rater, value = np.asarray(units), np.asarray(raters), np.asarray(values, dtype=np.float64)
    if unit.ndim != 1 or not unit.shape == rater.shape == value.shape:
        raise ValueError(
            f"Units, raters and values are columns of equal length: {unit.shape}, {rater.shape}, {value.shape}."
        )
    given = ~np.isnan(value)
    who = numbers(rater[given], what="rater")
    about = numbers(unit[given])
    meeting = who * (int(about.max(initial=-1)) + 1) + about
    patterns = patterns_from_long(meeting, value[given], clusters=who)
    alpha = _alpha(patterns, level, interval or IntervalSettings())
    share = percent_agreement(patterns)
    pairable = patterns.pairable()
    assert pairable.cluster is not None  # made with clusters above
    reason = share.reason and NO_REPEATS
    return SelfConsistency(
        equal=share.pooled_pairs,
        alpha=replace(alpha, reason=NO_REPEATS) if reason else alpha,
        pairs=share.pairs,
        repeated=pairable.units,
        raters=len(np.unique(pairable.cluster)),
        reason=reason,
    )


def _alpha(patterns: Patterns, level: AnyLevel, interval: IntervalSettings) -> Agreement:
    if level == "symmetric":
        return symmetric_alpha(patterns, interval=interval)
    return krippendorff_alpha(patterns, level=level, interval=interval)
