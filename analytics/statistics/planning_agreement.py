"""How many units rated by several people alpha needs for an interval of a given width."""

from __future__ import annotations

import math
from dataclasses import replace

from analytics.statistics.planning import Design, Plan, fewest
from analytics.statistics.student import t_quantile


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


def moved_root_error(root_error: float, alpha: float, *, pilot_overlap: float, overlap: float) -> float:
    """What a pilot's error would be with another overlap, in the ratio that holds for normal ratings."""
    before = normal_root_error(alpha, pilot_overlap)
    return root_error * normal_root_error(alpha, overlap) / before if before else root_error


def plan_alpha(
    root_error: float,
    design: Design,
    *,
    half_width: float,
    confidence: float = 0.95,
    moved: bool = False,
    ties: float = 0.0,
) -> Plan:
    """The fewest units for which alpha's interval is no wider than that. `moved`: the error is of another overlap.

    ties: the share of votes that alpha of preferences leaves out; `root_error` is by the root of pairable units, which
    are as many fewer.
    """
    if design.overlap < 2:
        raise ValueError(f"Agreement needs two ratings of a unit or more; got {design.overlap}.")
    if not half_width > 0:
        raise ValueError(f"The half width is a number above zero; got {half_width}.")
    if not 0 <= ties < 1:
        raise ValueError(f"The share of ties lies between 0 and 1; got {ties}.")
    words: tuple[str, ...] = ("se_shrinks", "normal_icc" if moved else "same_overlap")
    words += (*(("ties_unpaired",) if ties else ()), "independent_items", "random_raters")
    share = pairable_share(ties, design.overlap)
    if not root_error:
        return Plan(None, None, words, reason="at_the_edge")

    def reached(units: int) -> float | None:
        # The product is a whole number without ties, but for rounding.
        return alpha_half_width(root_error, int(units * share + 1e-9), confidence=confidence)

    def enough(units: int) -> bool:
        width = reached(units)
        return width is not None and width <= half_width

    units = fewest(enough, least=2)
    if units is None:
        return Plan(None, None, words, reason="too_many")
    found = replace(design, items=units)
    return Plan(found, reached(units), words)
