"""Each rater against the rest, from sums that can be kept per rater and added up: alpha of the study, alpha of one
rater with the rest, and alpha without one rater, all exact and without a second look at the ratings.

With the coincidences o_ck of Krippendorff's alpha, a unit of m ratings adds x_c x_k / (m - 1) to each pair of values.
Half of that belongs to either rater of the pair. So every rater has a row of sums (how often they gave each value,
their half of the coincidences), and these rows add up to those of the study. Of a rater's own row,

    alpha_r = 1 - (D_r / n_r) / (D_e)

sets their observed disagreement per rating against the disagreement that chance would give in the whole study. Weighted
by the number of ratings, its mean over all raters is the study's alpha. What leaving the rater out changes is a second
row: of each unit, the sums without the rater less those with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.agreement.disagreement import (
    AnyLevel,
    alphas_from_sums,
    pairs_of_values,
    squared_distances,
    unit_sums,
)
from analytics.statistics.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RaterSums:
    """Rows of V + V (V - 1) / 2 sums: the rater's share of the study's, and what leaving them out adds to them.
    `equal`, `pairs`: of the pairs of a rating of theirs and another's of the same unit, how many are equal."""

    share: FloatArray
    without: FloatArray
    ratings: int
    equal: int
    pairs: int


def rater_sums(counts: IntArray, own: IntArray) -> RaterSums:
    """From the rater's ratings: `counts` (R, V) how many others gave each value in the unit of each rating, `own` (R,)
    the code of the rater's own value."""
    size = counts.shape[1]
    first, second = pairs_of_values(size)
    rows = np.arange(len(own))
    others = counts.sum(axis=1)
    whole = counts.copy()
    whole[rows, own] += 1
    without = (unit_sums(counts) - unit_sums(whole)).sum(axis=0)
    paired = others > 0
    share = np.zeros(size + len(first))
    share[:size] = np.bincount(own[paired], minlength=size)
    # The rater's value with each other one of the unit, half of it theirs.
    met = np.zeros((size, size))
    weights = counts / np.maximum(others, 1)[:, None] / 2
    np.add.at(met, own, weights)
    share[size:] = met[first, second] + met[second, first]
    return RaterSums(
        share=share,
        without=without,
        ratings=int(paired.sum()),
        equal=int(counts[rows, own].sum()),
        pairs=int(others.sum()),
    )


# A rater who answers as the others do still slips in this share of answers, to any value.
LAPSES = 0.05
# What the others' answers to all units are worth beside those to the same unit, in answers: little where raters agree
# (alpha is then about 1 / (1 + concentration)), much where units hardly differ.
CONCENTRATIONS = np.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
CONCENTRATIONS.flags.writeable = False


def content_evidence(counts: IntArray, own: IntArray, *, ordered: bool) -> FloatArray:
    """(C,) for each of the `CONCENTRATIONS`, log10 of the likelihood ratio of a rater's answers: given by what is
    judged, as the others' are, against given whatever is judged. Below 0 the second explains them better.

    counts: (R, V) how many others gave each value in the unit of each answer; own: (R,) the code of the rater's own.
    Answers to units that nobody else answered say nothing. Under both the rater gives value k as often as they do,
    p_k. Under the first, the others' shares s_k in the unit weigh it against their shares o_k overall,

        P(k) = p_k w_k / sum_j p_j w_j,   w_k = (1 - lapses) s_k / o_k + lapses,

    so that severity and a habit cost nothing; s_k takes the answers to the unit, with a concentration's worth of o_k
    (the mean of a Dirichlet-multinomial). Where values are `ordered`, a value speaks for those beside it, a quarter as
    much. Which concentration holds is a matter of the study, not of the rater: see `most_likely_concentration`. With a
    ratio of likelihoods, who judges as the others do falls below -x with a chance of 10^-x at most, however
    little the raters agree (Wald); where they hardly do, so does who judges at random.
    """
    met = counts.sum(axis=1) > 0
    others: FloatArray = counts[met].astype(np.float64)
    own = own[met]
    if not len(own):
        return np.zeros(len(CONCENTRATIONS))
    size = others.shape[1]
    if ordered and size > 2:
        below, above = np.zeros_like(others), np.zeros_like(others)
        below[:, 1:], above[:, :-1] = others[:, :-1] / 4, others[:, 1:] / 4
        others = others + below + above
    overall = (others.sum(axis=0) + 0.5) / (others.sum() + 0.5 * size)
    usual = (np.bincount(own, minlength=size) + 0.5) / (len(own) + 0.5 * size)
    # With n answers to a unit, w = a counts / o + b, where a = (1 - lapses) / (n + c) and b = lapses + a c.
    n = others.sum(axis=1)
    relative = others / overall
    mine, expected = relative[np.arange(len(own)), own], relative @ usual
    a = (1 - LAPSES) / (n + CONCENTRATIONS[:, None])
    b = LAPSES + a * CONCENTRATIONS[:, None]
    return np.asarray((np.log(a * mine + b) - np.log(a * expected + b)).sum(axis=1) / np.log(10))


def most_likely_concentration(evidence: FloatArray) -> int:
    """Which of the `CONCENTRATIONS` explains a study best; `evidence` (B, C) by rater."""
    return int(evidence.sum(axis=0).argmax())


@dataclass(frozen=True, eq=False)
class AgainstTheRest:
    """alpha: of all raters together, NaN where it is not defined. with_rest, without: (B,) by rater, NaN where not
    defined."""

    alpha: float
    with_rest: FloatArray
    without: FloatArray


def against_the_rest(
    shares: FloatArray, without: FloatArray, counted: FloatArray, values: FloatArray, *, level: AnyLevel
) -> AgainstTheRest:
    """`shares`, `without`: (B, V + Q) by rater. `counted`: (B,) 1 for whom the study counts; the others, 0, are
    compared with these."""
    size = len(values)
    total = (shares * counted[:, None]).sum(axis=0)
    alpha = float(alphas_from_sums(total[None, :], values, level=level)[0])
    chance = _expected_per_rating(total, values, level=level)
    first, second = pairs_of_values(size)
    apart = squared_distances(level, values, total[None, :size], first=first, second=second)[0]
    observed, ratings = shares[:, size:] @ apart, shares[:, :size].sum(axis=1)
    per_rating = np.divide(observed, ratings, out=np.full(len(shares), np.nan), where=ratings > 0)
    left = total[None, :] + without * counted[:, None]
    # Differences of sums leave crumbs where nothing is.
    left = np.where(np.abs(left) < 1e-9, 0.0, left)
    return AgainstTheRest(
        alpha, 1 - per_rating / chance if chance else np.full(len(shares), np.nan),
        alphas_from_sums(left, values, level=level),
    )  # fmt: skip


def _expected_per_rating(total: FloatArray, values: FloatArray, *, level: AnyLevel) -> float:
    """D_e on the scale of an observed sum per rating; 0 where it is not defined."""
    size = len(values)
    n = float(total[:size].sum())
    if n < 2:
        return 0.0
    if level == "symmetric":
        return n / (4 * (n - 1))
    first, second = pairs_of_values(size)
    apart = squared_distances(level, values, total[None, :size], first=first, second=second)[0]
    return float((total[first] * total[second] * apart).sum()) / (n * (n - 1))
