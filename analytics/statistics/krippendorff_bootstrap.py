"""Krippendorff's own bootstrap of alpha, as the macro KALPHA does it (Hayes & Krippendorff, "Answering the call for a
standard reliability measure for coding data", 2007): for comparison with its figures, not to be relied on.

It draws as many coincidences as there are pairs of ratings, whichever units they are of, and divides by the expected
disagreement of the data as if that were known. Left out is the macro's adjustment of how often alpha is 1.
"""

from __future__ import annotations

import numpy as np

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.disagreement import cell_pairs
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.levels import AnyLevel, distances
from analytics.statistics.patterns import Patterns

# How many drawn counts are in memory at once.
_CELLS = 4_000_000


def pair_draws(
    pairable: Patterns, *, level: AnyLevel, disagreement: float, resampling: Resampling
) -> FloatArray:
    """(B,) alphas drawn, where `disagreement` is 1 - alpha of the data; none falls below -1."""
    distance, chance = _coincidences(pairable, level)
    sizes = pairable.sizes
    pairs = int((pairable.multiplicity * (sizes * (sizes - 1) // 2)).sum())
    if not len(distance):
        return np.ones(resampling.replicates)
    scale = disagreement / (pairs * float(chance @ distance))
    chances = np.append(chance, max(0.0, 1 - chance.sum()))
    rng, drawn = np.random.default_rng(resampling.seed), []
    at_once = max(1, _CELLS // len(chances))
    for start in range(0, resampling.replicates, at_once):
        rows = min(at_once, resampling.replicates - start)
        drawn.append(1 - scale * (rng.multinomial(pairs, chances, size=rows)[:, :-1] @ distance))
    return np.maximum(np.concatenate(drawn), -1.0)


def _coincidences(pairable: Patterns, level: AnyLevel) -> tuple[FloatArray, FloatArray]:
    """The distinct distances of different values, and their shares of all n coincidences."""
    totals = pairable.totals.astype(np.float64)[None, :]
    found, share = [np.zeros(0)], [np.zeros(0)]
    for left, right in cell_pairs(pairable):
        apart = left != right
        left, right = left[apart], right[apart]
        first, second = pairable.code[left], pairable.code[right]
        pattern = pairable.pattern[left]
        found.append(distances(level, pairable.values, totals, first=first, second=second)[0])
        times = pairable.multiplicity[pattern] * pairable.count[left] * pairable.count[right]
        share.append(times / (pairable.sizes[pattern] - 1) / pairable.ratings)
    distance, which = np.unique(np.concatenate(found), return_inverse=True)
    summed = np.bincount(which, weights=np.concatenate(share), minlength=len(distance))
    return distance, summed.astype(np.float64)
