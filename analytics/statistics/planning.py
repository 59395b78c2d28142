"""How many votes a study of ratings needs before it starts: for a mean's interval, or to tell two systems apart.

Votes are not independent of each other: a rater is severe or mild in all of theirs, and what is rated is good or bad
for all who rate it. With the variances of both and of the rest (`Components`), the variance of a mean follows from the
design (Snedecor & Cochran, "Statistical Methods", chapter 13): more votes on the same output shrink only the last of
its three terms. Raters meet outputs at random, with equal loads, as the queue hands them out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from analytics.statistics.planning_power import power_of_t
from analytics.statistics.student import t_quantile

# Beyond this nobody plans; a search has to end somewhere.
MOST_ITEMS = 10_000_000
_SAMPLES = ("independent_items", "components_hold", "normal_means")


@dataclass(frozen=True)
class Components:
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
class Design:
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
class Plan:
    """What a target asks for. `reached` is the half width, power or accuracy that the design then has.

    design: None where no design gets there, and `reason` says why, as a code of `planning_words.SENTENCES`.
    assumptions: codes of the same. design_effect: how many of these votes are worth one independent vote.
    """

    design: Design | None
    reached: float | None
    assumptions: tuple[str, ...]
    design_effect: float | None = None
    reason: str | None = None


def require(design: Design) -> None:
    """Raises ValueError for a design without anything in it."""
    for name in ("blocks", "items", "overlap", "votes_per_rater"):
        if getattr(design, name) < 1:
            raise ValueError(f"A design has one or more of {name}; got {getattr(design, name)}.")


def mean_half_width(components: Components, design: Design, *, confidence: float = 0.95) -> float | None:
    """Half the interval of one block's mean; None for a single item, which leaves nothing to compare.

    The degrees of freedom are Satterthwaite's (Biometrics 2, 1946) for the sum of what the means of items and those of
    raters vary by.
    """
    require(design)
    if design.items < 2 or design.raters < 2:
        return None
    items, raters, rest = _mean_variance(components, design)
    variance = items + raters + rest
    if not variance:
        return 0.0
    df = variance**2 / ((items + rest) ** 2 / (design.items - 1) + raters**2 / (design.raters - 1))
    return math.sqrt(variance) * t_quantile((1 + confidence) / 2, df=max(1, math.floor(df + 1e-9)))


def design_effect(components: Components, design: Design) -> float:
    """The variance of a block's mean over what as many independent votes would give (Kish, "Survey Sampling", 1965)."""
    return sum(_mean_variance(components, design)) * design.items * design.overlap / components.total


def difference_power(
    components: Components, design: Design, difference: float, *, confidence: float = 0.95
) -> float | None:
    """The chance that a two-sided t test over items tells two systems apart whose means are `difference` apart.

    Both answer the same items, so how good an item is for all cancels. A rater's severity cancels only where they meet
    both outputs together, in a panel; else it falls on one side as often as on the other, like the rest.
    """
    require(design)
    if design.items < 2:
        return None
    said = components.residual + (0.0 if design.panel else components.raters)
    variance = 2 * (components.outputs + said / design.overlap) / design.items
    if not variance:
        return 1.0
    return power_of_t(abs(difference) / math.sqrt(variance), df=design.items - 1, confidence=confidence)


def plan_mean(components: Components, design: Design, *, half_width: float, confidence: float = 0.95) -> Plan:
    """The fewest items (`design.items` is not read) for which a mean's interval is no wider than that."""
    _require_positive(half_width, "half width")
    words = ("random_raters", "equal_loads", *_SAMPLES)

    def enough(items: int) -> bool:
        reached = mean_half_width(components, replace(design, items=items), confidence=confidence)
        return reached is not None and reached <= half_width

    found = _with_items(design, enough)
    if found is None:
        return Plan(None, None, words, reason="too_many")
    reached = mean_half_width(components, found, confidence=confidence)
    return Plan(found, reached, words, design_effect(components, found) if components.total else None)


def plan_difference(
    components: Components, design: Design, *, difference: float, power: float = 0.8, confidence: float = 0.95
) -> Plan:
    """The fewest items for which two systems that are `difference` apart are told apart with this chance."""
    _require_positive(abs(difference), "difference")
    _require_share(power, "power")
    severity = "panel_cancels" if design.panel else "severity_falls_evenly"
    words = ("paired_by_item", severity, "one_comparison", *_SAMPLES)

    def enough(items: int) -> bool:
        reached = difference_power(
            components, replace(design, items=items), difference, confidence=confidence
        )
        return reached is not None and reached >= power

    found = _with_items(design, enough)
    if found is None:
        return Plan(None, None, words, reason="too_many")
    return Plan(found, difference_power(components, found, difference, confidence=confidence), words)


def fewest(enough: Callable[[int], bool], *, least: int = 1, most: int = MOST_ITEMS) -> int | None:
    """The smallest number from `least` on that is enough, if whatever is above one that is enough is enough too."""
    high = least
    while not enough(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = max(least, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high


def _with_items(design: Design, enough: Callable[[int], bool]) -> Design | None:
    items = fewest(enough, least=2)
    return None if items is None else replace(design, items=items)


def _mean_variance(components: Components, design: Design) -> tuple[float, float, float]:
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


def _require_share(value: float, name: str) -> None:
    if not 0 < value < 1:
        raise ValueError(f"The {name} lies between 0 and 1; got {value}.")
