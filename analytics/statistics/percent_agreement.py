"""Percent agreement, in the three forms that the literature calls by the same name."""

from __future__ import annotations

from dataclasses import dataclass

from analytics.statistics.patterns import Patterns


@dataclass(frozen=True)
class PercentAgreement:
    """Shares of equal pairs among the ratings of a unit; they differ where the numbers of ratings differ.

    pooled_pairs: all pairs of all units together, so a unit weighs m (m - 1) / 2 (CMI-RewardBench, Table 6).
    per_unit_mean: each unit's own share, averaged: every unit weighs the same.
    observed: 1 - Do of nominal alpha: every rating weighs the same.
    All three are None when no unit has two ratings, and then `reason` says so.
    """

    pooled_pairs: float | None
    per_unit_mean: float | None
    observed: float | None
    pairable_units: int
    pairs: int
    reason: str | None


def percent_agreement(patterns: Patterns) -> PercentAgreement:
    """The agreement of pairs of ratings, not corrected for chance."""
    pairable = patterns.pairable()
    if not pairable.units:
        return PercentAgreement(
            None, None, None, 0, 0, "no_pairable_units" if patterns.units else "no_ratings"
        )
    sizes, times = pairable.sizes, pairable.multiplicity
    pairs = sizes * (sizes - 1) // 2
    equal = pairable.per_pattern(pairable.count * (pairable.count - 1) // 2)
    share = equal / pairs
    return PercentAgreement(
        pooled_pairs=float((times * equal).sum() / (times * pairs).sum()),
        per_unit_mean=float((times * share).sum() / pairable.units),
        observed=float((times * sizes * share).sum() / pairable.ratings),
        pairable_units=pairable.units,
        pairs=int((times * pairs).sum()),
        reason=None,
    )
