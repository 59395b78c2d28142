"""Sample size: how many votes a study needs for an interval's width, for the power of a test, or for alpha.

Votes are not independent of each other: a rater is severe or mild in all of theirs, and what is rated is good or bad
for all who rate it. With the variances of both and of the rest (`VarianceComponents`), the variance of a mean follows
from the design (Snedecor & Cochran, "Statistical Methods", chapter 13): more votes on the same output shrink only the
last of its three terms. Raters meet outputs at random, with equal loads, as the queue hands them out.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

import numpy as np

from analytics.statistics.arrays import FloatArray
from analytics.statistics.intervals import t_quantile

# The chance that a test finds what is there.


_NORMAL = NormalDist()
# From here on a t distribution is the normal one to the four digits that a plan is good for.
_NORMAL_DF = 5000
_CHI_NODES = 400


def power_of_t(noncentrality: float, *, df: int, confidence: float = 0.95) -> float:
    """Of a two-sided t test whose statistic has this noncentrality and `df` degrees of freedom.

    A noncentral t is a normal over an independent chi / sqrt(df), so its tails are a normal's, averaged over that
    (Johnson, Kotz & Balakrishnan, "Continuous Univariate Distributions", vol. 2, chapter 31).
    """
    if df < 1:
        raise ValueError(f"A t test needs a degree of freedom; got {df}.")
    critical = t_quantile((1 + confidence) / 2, df=df)

    def tails(bound: float) -> float:
        return _NORMAL.cdf(noncentrality - bound) + _NORMAL.cdf(-noncentrality - bound)

    if df > _NORMAL_DF:
        return tails(critical)
    scale, weight = _scaled_chi(df)
    return float(np.clip(np.dot([tails(critical * s) for s in scale.tolist()], weight), 0.0, 1.0))


@cache
def _scaled_chi(df: int) -> tuple[FloatArray, FloatArray]:
    """Where chi / sqrt(df) lies and with what weight: density on an even grid over all but 1e-12 of it."""
    middle, reach = math.sqrt(max(df - 1, 0) / df), 8 / math.sqrt(2 * df)
    ends = np.linspace(max(0.0, middle - reach), middle + reach, _CHI_NODES + 1)
    scale = (ends[1:] + ends[:-1]) / 2
    log_density = (df - 1) * np.log(scale) - df * scale**2 / 2
    density = np.exp(log_density - log_density.max())
    return scale, density / density.sum()


# Beyond this nobody plans; a search has to end somewhere.
MOST_ITEMS = 10_000_000
_MEAN_ASSUMPTIONS = ("independent_items", "components_hold", "normal_means")


@dataclass(frozen=True)
class VarianceComponents:
    """Variances of one vote about a system: between raters (severity), between items (shared by the systems that answer
    them), between outputs (what an item and a system make of each other), and the rest."""

    raters: float
    items: float
    outputs: float
    residual: float

    @property
    def total(self) -> float:
        return self.raters + self.items + self.outputs + self.residual


@dataclass(frozen=True)
class StudyDesign:
    """blocks: what is estimated on its own: systems, or pairs of systems. items: in each block. overlap: votes on each
    output or comparison. panel: one rater meets all systems of an item together."""

    blocks: int
    items: int
    overlap: int
    votes_per_rater: int
    panel: bool = False

    @property
    def outputs(self) -> int:
        return self.blocks * self.items

    @property
    def votes(self) -> int:
        return self.outputs * self.overlap

    @property
    def raters(self) -> int:
        return max(self.overlap, -(-self.votes // self.votes_per_rater))


@dataclass(frozen=True)
class SamplePlan:
    """What a target asks for. `reached` is the half width, power or accuracy that the design then has.

    design: None where no design gets there, and `reason` says why, as a code of SENTENCES.
    assumptions: codes of the same. design_effect: how many of these votes are worth one independent vote.
    """

    design: StudyDesign | None
    reached: float | None
    assumptions: tuple[str, ...]
    design_effect: float | None = None
    reason: str | None = None


def require_design(design: StudyDesign) -> None:
    """Raises ValueError for a design without anything in it."""
    for name in ("blocks", "items", "overlap", "votes_per_rater"):
        if getattr(design, name) < 1:
            raise ValueError(f"A design has one or more of {name}; got {getattr(design, name)}.")


def mean_half_width(
    components: VarianceComponents, design: StudyDesign, *, confidence: float = 0.95
) -> float | None:
    """Half the interval of one block's mean; None for a single item, which leaves nothing to compare.

    The degrees of freedom are Satterthwaite's (Biometrics 2, 1946) for the sum of what the means of items and those of
    raters vary by.
    """
    require_design(design)
    if design.items < 2 or design.raters < 2:
        return None
    items, raters, rest = _mean_variance(components, design)
    variance = items + raters + rest
    if not variance:
        return 0.0
    df = variance**2 / ((items + rest) ** 2 / (design.items - 1) + raters**2 / (design.raters - 1))
    return math.sqrt(variance) * t_quantile((1 + confidence) / 2, df=max(1, math.floor(df + 1e-9)))


def design_effect(components: VarianceComponents, design: StudyDesign) -> float:
    """The variance of a block's mean over what as many independent votes would give (Kish, "Survey Sampling", 1965)."""
    return sum(_mean_variance(components, design)) * design.items * design.overlap / components.total


def difference_power(
    components: VarianceComponents, design: StudyDesign, difference: float, *, confidence: float = 0.95
) -> float | None:
    """The chance that a two-sided t test over items tells two systems apart whose means are `difference` apart.

    Both answer the same items, so how good an item is for all cancels. A rater's severity cancels only where they meet
    both outputs together, in a panel; else it falls on one side as often as on the other, like the rest.
    """
    require_design(design)
    if design.items < 2:
        return None
    per_vote = components.residual + (0.0 if design.panel else components.raters)
    variance = 2 * (components.outputs + per_vote / design.overlap) / design.items
    if not variance:
        return 1.0
    return power_of_t(abs(difference) / math.sqrt(variance), df=design.items - 1, confidence=confidence)


def plan_mean(
    components: VarianceComponents, design: StudyDesign, *, half_width: float, confidence: float = 0.95
) -> SamplePlan:
    """The fewest items (`design.items` is not read) for which a mean's interval is no wider than that."""
    _require_positive(half_width, "half width")
    plan = fewest_items(
        design,
        lambda planned: mean_half_width(components, planned, confidence=confidence),
        lambda reached: reached <= half_width,
        ("random_raters", "equal_loads", *_MEAN_ASSUMPTIONS),
    )
    if plan.design is None or not components.total:
        return plan
    return replace(plan, design_effect=design_effect(components, plan.design))


def plan_difference(
    components: VarianceComponents,
    design: StudyDesign,
    *,
    difference: float,
    power: float = 0.8,
    confidence: float = 0.95,
) -> SamplePlan:
    """The fewest items for which two systems that are `difference` apart are told apart with this chance."""
    _require_positive(abs(difference), "difference")
    if not 0 < power < 1:
        raise ValueError(f"The power lies between 0 and 1; got {power}.")
    severity = "panel_cancels" if design.panel else "severity_falls_evenly"
    assumptions = ("paired_by_item", severity, "one_comparison", *_MEAN_ASSUMPTIONS)
    return fewest_items(
        design,
        lambda planned: difference_power(components, planned, difference, confidence=confidence),
        lambda reached: reached >= power,
        assumptions,
    )


def fewest_items(
    design: StudyDesign,
    reached: Callable[[StudyDesign], float | None],
    is_sufficient: Callable[[float], bool],
    assumptions: tuple[str, ...],
    *,
    least: int = 2,
) -> SamplePlan:
    """The design with the fewest items that suffices, if whatever is above one that suffices does too."""

    def suffices(items: int) -> bool:
        figure = reached(replace(design, items=items))
        return figure is not None and is_sufficient(figure)

    items = least + bisect_left(range(least, MOST_ITEMS + 1), True, key=suffices)
    if items > MOST_ITEMS:
        return SamplePlan(None, None, assumptions, reason="too_many")
    planned = replace(design, items=items)
    return SamplePlan(planned, reached(planned), assumptions)


def _mean_variance(components: VarianceComponents, design: StudyDesign) -> tuple[float, float, float]:
    """Of a block's mean: what items and outputs, raters, and the rest contribute.

    Of the N votes on a block rater r gave c_r; the sum of (c_r / N)^2 is 1 / R where all gave as many, and a little
    more where chance decides how many of a rater's votes fall on this block.
    """
    n = design.items * design.overlap
    raters = 1 / design.raters + (1 - 1 / design.blocks) / n
    return (
        (components.items + components.outputs) / design.items,
        components.raters * min(raters, 1.0),
        components.residual / n,
    )


def _require_positive(value: float, name: str) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"The {name} is a number above zero; got {value}.")


# How many comparisons a study needs: for the interval of a win rate, or to tell it from one half. A vote
# between two systems counts 1 for a win, 1/2 for a tie and 0 for a loss, and a win rate is the mean of such
# votes: what `sample_size` says of ratings holds of it, with the pair of systems for a system.


# Exact up to so many votes; beyond, the normal approximation differs by less than a vote in a hundred.
_MOST_EXACT_VOTES = 3000
# How far beyond the first number with enough power a larger one can fall short of it again: the exact test's power
# goes up and down with n, by less and less.
_POWER_SAWTOOTH = 60
_WIN_RATE_ASSUMPTIONS = ("random_raters", "many_raters", "equal_loads", "independent_items")


def vote_components(
    win_rate: float, *, ties: float = 0.0, between_items: float = 0.0, between_raters: float = 0.0
) -> VarianceComponents:
    """The variances of one vote. win_rate: of the votes that are no ties. between_items, between_raters: the
    correlation of two votes on the same comparison by different raters, and of two votes of one rater on different
    comparisons of the same systems."""
    _require_vote_shares(win_rate, ties, between_items, between_raters)
    wins = (1 - ties) * win_rate
    total = wins + ties / 4 - (wins + ties / 2) ** 2
    rest = 1 - between_items - between_raters
    return VarianceComponents(
        raters=between_raters * total, items=0.0, outputs=between_items * total, residual=rest * total
    )


def plan_win_rate(
    components: VarianceComponents, design: StudyDesign, *, half_width: float, confidence: float = 0.95
) -> SamplePlan:
    """The fewest comparisons of each pair of systems for which its win rate's interval is no wider than that."""
    plan = plan_mean(components, design, half_width=half_width, confidence=confidence)
    return replace(plan, assumptions=("ties_half", "same_correlation", *plan.assumptions))


def plan_preference(
    win_rate: float,
    design: StudyDesign,
    *,
    ties: float = 0.0,
    between_items: float = 0.0,
    between_raters: float = 0.0,
    power: float = 0.8,
    confidence: float = 0.95,
) -> SamplePlan:
    """The fewest comparisons of each pair for which a system that wins so often is told from one that wins half.

    Votes that are no ties are worth one over the design effect of an independent one.
    """
    require_design(design)
    _require_vote_shares(win_rate, ties, between_items, between_raters)
    needed, exact = votes_for_preference(win_rate, power=power, confidence=confidence)
    test = "exact_binomial" if exact else "normal_binomial"
    assumptions = (test, "ties_left_out", "same_correlation", *_WIN_RATE_ASSUMPTIONS, "one_comparison")
    if needed is None:
        return SamplePlan(None, None, assumptions, reason="even_chance")

    def effective_votes(planned: StudyDesign) -> float:
        effect = _vote_design_effect(planned, between_items, between_raters)
        return planned.items * planned.overlap * (1 - ties) / effect

    plan = fewest_items(design, effective_votes, lambda votes: votes >= needed, assumptions, least=1)
    if plan.design is None:
        return plan
    votes = math.floor(effective_votes(plan.design) + 1e-9)
    reached = preference_power(votes, win_rate, confidence=confidence)
    effect = _vote_design_effect(plan.design, between_items, between_raters)
    return replace(plan, reached=reached, design_effect=effect)


def votes_for_preference(
    win_rate: float, *, power: float = 0.8, confidence: float = 0.95
) -> tuple[int | None, bool]:
    """Independent votes from which on a two-sided test at this win rate always has this power, and whether by the
    exact test or by the normal approximation; None at one half."""
    if win_rate == 0.5:
        return None, True
    p = max(win_rate, 1 - win_rate)
    # Fleiss, "Statistical Methods for Rates and Proportions", section 2.3, for a known proportion of one half.
    of_test, of_power = _NORMAL.inv_cdf((1 + confidence) / 2), _NORMAL.inv_cdf(power)
    rough = math.ceil(((of_test / 2 + of_power * math.sqrt(p * (1 - p))) / (p - 0.5)) ** 2)
    if rough > _MOST_EXACT_VOTES:
        return rough, False
    too_few = (
        n for n in range(1, rough + _POWER_SAWTOOTH) if preference_power(n, p, confidence=confidence) < power
    )
    return max(too_few, default=0) + 1, True


def preference_power(n: int, win_rate: float, *, confidence: float = 0.95) -> float:
    """Of the two-sided test of `n` independent votes against one half; exact up to a few thousand votes."""
    if n < 1:
        return 0.0
    if n > _MOST_EXACT_VOTES:
        return _normal_power(n, win_rate, confidence=confidence)
    critical = _critical_wins(n, confidence)
    if critical is None:
        return 0.0
    from scipy import special  # takes a moment to load

    both_tails = special.bdtrc(critical - 1, n, win_rate) + special.bdtr(n - critical, n, win_rate)
    return float(min(both_tails, 1.0))


def _normal_power(n: int, win_rate: float, *, confidence: float) -> float:
    critical = _NORMAL.inv_cdf((1 + confidence) / 2) / 2
    spread = math.sqrt(win_rate * (1 - win_rate)) or 1e-12
    lead = abs(win_rate - 0.5) * math.sqrt(n)
    return float(_NORMAL.cdf((lead - critical) / spread) + _NORMAL.cdf((-lead - critical) / spread))


@cache
def _critical_wins(n: int, confidence: float) -> int | None:
    """The fewest wins of n that the test calls more than half; None where even all are not enough."""
    from scipy import special

    tail = special.bdtrc(np.arange(n + 1) - 1, n, 0.5)
    rejecting = np.flatnonzero(2 * tail <= 1 - confidence + 1e-12)
    return int(rejecting[0]) if rejecting.size else None


def _vote_design_effect(design: StudyDesign, between_items: float, between_raters: float) -> float:
    """Kish's design effect with two kinds of clusters; below one it would promise more than there is."""
    n = design.items * design.overlap
    per_rater = n / design.raters + 1 - 1 / design.blocks
    return max(1.0, 1 + (design.overlap - 1) * between_items + (per_rater - 1) * between_raters)


def _require_vote_shares(win_rate: float, ties: float, between_items: float, between_raters: float) -> None:
    if not 0 <= win_rate <= 1:
        raise ValueError(f"The win rate lies between 0 and 1; got {win_rate}.")
    if not 0 <= ties < 1:
        raise ValueError(f"The share of ties lies between 0 and 1, below 1; got {ties}.")
    if between_items < 0 or between_raters < 0 or between_items + between_raters > 1:
        raise ValueError(
            f"Correlations are 0 or more and at most 1 together; got {between_items} and {between_raters}."
        )


# How many units rated by several people alpha needs for an interval of a given width.


def root_n_error(error: float, *, units: int) -> float:
    """A jackknife standard error of alpha, freed of the number of pairable units that it came from."""
    return error * math.sqrt(units)


def pairable_share(ties: float, overlap: int) -> float:
    """The chance that a unit keeps two votes for a side or more, where each of `overlap` is for none with `ties`."""
    return 1 - ties**overlap - overlap * (1 - ties) * ties ** (overlap - 1)


def pairable_overlap(ties: float, overlap: int) -> float:
    """The votes for a side of the units that keep two or more, on average."""
    share = pairable_share(ties, overlap)
    alone = overlap * (1 - ties) * ties ** (overlap - 1)
    return (overlap * (1 - ties) - alone) / share if share > 0 else 2.0


def alpha_half_width(root_error: float, units: int, *, confidence: float = 0.95) -> float | None:
    """Of the jackknife interval that agreement is reported with; None below two units."""
    if units < 2:
        return None
    return root_error / math.sqrt(units) * t_quantile((1 + confidence) / 2, df=units - 1)


def normal_root_error(alpha: float, overlap: float) -> float:
    """sqrt(units) times the standard error of the intraclass correlation of normal ratings, `overlap` of each unit.

    Donner, "A review of inference procedures for the intraclass correlation coefficient", International Statistical
    Review 54, 1986: 2 (1 - rho)^2 (1 + (k - 1) rho)^2 / (k (k - 1)). Interval alpha of complete data estimates rho.
    """
    if not -1 < alpha < 1:
        raise ValueError(f"Alpha lies between -1 and 1 here; got {alpha}.")
    if overlap < 2:
        raise ValueError(f"Agreement needs two ratings of a unit or more; got {overlap}.")
    spread = abs(1 + (overlap - 1) * alpha)
    return math.sqrt(2 / (overlap * (overlap - 1))) * (1 - alpha) * spread


def root_error_at_overlap(root_error: float, alpha: float, *, pilot_overlap: float, overlap: float) -> float:
    """What a pilot's error would be with another overlap, in the ratio that holds for normal ratings."""
    before = normal_root_error(alpha, pilot_overlap)
    return root_error * normal_root_error(alpha, overlap) / before if before else root_error


def plan_alpha(
    root_error: float,
    design: StudyDesign,
    *,
    half_width: float,
    confidence: float = 0.95,
    extrapolated: bool = False,
    ties: float = 0.0,
) -> SamplePlan:
    """The fewest units for which alpha's interval is no wider than that.

    extrapolated: the error is of another overlap. ties: the share of votes that alpha of preferences leaves out;
    `root_error` is by the root of pairable units, which are as many fewer.
    """
    if design.overlap < 2:
        raise ValueError(f"Agreement needs two ratings of a unit or more; got {design.overlap}.")
    _require_positive(half_width, "half width")
    if not 0 <= ties < 1:
        raise ValueError(f"The share of ties lies between 0 and 1; got {ties}.")
    assumptions: tuple[str, ...] = ("se_shrinks", "normal_icc" if extrapolated else "same_overlap")
    assumptions += (*(("ties_unpaired",) if ties else ()), "independent_items", "random_raters")
    share = pairable_share(ties, design.overlap)
    if not root_error:
        return SamplePlan(None, None, assumptions, reason="at_the_edge")

    def reached(planned: StudyDesign) -> float | None:
        # The product is a whole number without ties, but for rounding.
        return alpha_half_width(root_error, int(planned.items * share + 1e-9), confidence=confidence)

    return fewest_items(design, reached, lambda width: width <= half_width, assumptions)


# What a plan takes for granted, and why there is none: codes for machines, sentences for people.
SENTENCES = {
    # what is taken for granted
    "random_raters": "Raters are drawn from those one wants to speak of, and meet outputs at random.",
    "equal_loads": "All raters give about as many votes.",
    "independent_items": "Items are drawn independently of each other; variants of one prompt count as one.",
    "components_hold": "The study varies as much as the pilot figures say.",
    "normal_means": "Means of so many votes are about normal; ratings themselves need not be.",
    "paired_by_item": "All systems answer the same items, and systems are compared item by item.",
    "one_comparison": "The power is that of one comparison; among many pairs, ask for more confidence.",
    "panel_cancels": "A rater hears the systems of an item together, so that their severity cancels.",
    "severity_falls_evenly": "A rater's severity falls on either system as often, so it adds noise, not a lean.",
    "many_raters": "Some 20 raters or more take part; an interval that counts fewer as clusters is wider than this.",
    "ties_half": "A tie is half a vote for each side.",
    "ties_left_out": "Ties decide nothing and are left out of the test, so they cost votes.",
    "ties_unpaired": "Agreement is between votes for a side. Comparisons that ties leave with fewer than two are made "
    "up for by more of them; count votes that both are bad as ties.",
    "exact_binomial": "The test is the exact two-sided binomial test against one half.",
    "normal_binomial": "So many votes that the normal approximation of the binomial test is used.",
    "same_correlation": "Votes on one comparison, and votes of one rater, are as correlated as the figures say.",
    "same_overlap": "Every unit has as many ratings as the pilot's units have on average.",
    "se_shrinks": "The standard error of alpha shrinks with the square root of the units.",
    "normal_icc": "How overlap changes the error of alpha is taken from the intraclass correlation of normal "
    "ratings (Donner 1986): exact there, a guide elsewhere.",
    "beta_items": "Of each comparison a share of raters prefers one side; the shares follow a symmetric Beta "
    "distribution with the correlation given.",
    "majority_is_truth": "The right answer is what most of all possible raters would say.",
    # why there is no plan
    "too_many": "No study of reasonable size gets there. Ask for less, or look for what else would help.",
    "even_chance": "At a win rate of one half there is no difference to find.",
    "at_the_edge": "At this alpha the interval cannot be as wide as that, or there is no interval at all.",
}
