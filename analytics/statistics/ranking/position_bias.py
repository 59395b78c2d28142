"""Position bias: whether the side that is shown first wins more often than it should.

Two systems may be of very different quality, but where the order is drawn by a coin, the side shown first should be
preferred in half of the votes that prefer one. CMI-RewardBench (Table 8) shows the bias as the shares of A and B in
either order; the strengths of the systems are taken out by the ranking's position effect (`ranking`, first_shown).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analytics.statistics.arrays import IntArray
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.intervals import Share, clustered_share, two_sided_binomial_p


@dataclass(frozen=True)
class PositionBias:
    """Of the votes that prefer one side, the share for the one shown first.

    p_value: of the exact binomial test against one half, two-sided, which takes votes as independent; None without
    votes.
    """

    first: Share
    p_value: float | None


@dataclass(frozen=True)
class OrderBalance:
    """How often pairs were shown as listed and swapped.

    even_pairs: those whose two orders were shown equally often, or one of them once more. largest: the largest
    difference of a pair.
    """

    listed: int
    swapped: int
    pairs: int
    even_pairs: int
    largest: int


def position_bias(
    preferred_first: ArrayLike, *, clusters: ArrayLike | None, resampling: Resampling
) -> PositionBias:
    """`preferred_first`: a row per vote that prefers one side, whether that is the one shown first."""
    hits = np.asarray(preferred_first, dtype=np.int64)
    first = clustered_share(hits, np.ones_like(hits), clusters=clusters, resampling=resampling)
    return PositionBias(first, two_sided_binomial_p(first.hits, first.n))


def order_balance(pair: ArrayLike, swapped: ArrayLike) -> OrderBalance:
    """A row per showing: the number of the pair, and whether its second side was shown first."""
    turned = np.asarray(swapped, dtype=bool)
    _, number = np.unique(np.asarray(pair), return_inverse=True)
    ahead: IntArray = np.bincount(number[~turned], minlength=number.max(initial=-1) + 1)
    behind: IntArray = np.bincount(number[turned], minlength=len(ahead))
    apart = np.abs(ahead - behind)
    return OrderBalance(
        listed=int(ahead.sum()),
        swapped=int(behind.sum()),
        pairs=len(apart),
        even_pairs=int((apart <= 1).sum()),
        largest=int(apart.max(initial=0)),
    )
