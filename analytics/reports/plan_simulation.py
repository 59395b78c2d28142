"""The planned study tried with synthetic raters, and its curves."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

from analytics.reports.plan import Asked
from analytics.statistics.levels import AnyLevel
from analytics.statistics.planning import Design
from analytics.statistics.synthesis import PreferenceWorld, RatingWorld, Scale
from analytics.statistics.synthesis_pilot import Progress, simulated_pilot

RUNS = 200
MOST_VOTES = 200_000


@dataclass(frozen=True)
class Habits:
    """How synthetic raters err. careless: share of raters who answer anything. shown_first: of comparisons with nothing
    to choose, the share that what is shown first wins."""

    careless: float = 0.0
    shown_first: float = 0.5


def simulate(
    asked: Asked,
    design: Design,
    habits: Habits,
    *,
    runs: int = RUNS,
    seed: int = 1,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Raises ValueError for a design of more than MOST_VOTES votes. A design for agreement or a majority has one block;
    here it is that of two systems."""
    if design.votes > MOST_VOTES:
        raise ValueError(
            f"A simulated pilot has {MOST_VOTES:,} votes at most; this design has {design.votes:,}."
        )
    systems = asked.systems if design.blocks == asked.blocks else 2 if asked.kind == "preference" else 1
    found = simulated_pilot(
        _world(asked, habits),
        design,
        systems=systems,
        level=cast(AnyLevel, "symmetric" if asked.kind == "preference" else asked.level),
        runs=runs,
        seed=seed,
        confidence=asked.confidence,
        progress=progress,
    )
    return {**asdict(found), "habits": asdict(habits), "seed": seed, "systems": systems}


def _world(asked: Asked, habits: Habits) -> RatingWorld | PreferenceWorld:
    if asked.kind == "preference":
        return PreferenceWorld(
            win_rate=asked.win_rate,
            ties=asked.ties,
            between_items=asked.between_items,
            between_raters=asked.between_raters,
            shown_first=habits.shown_first,
            careless=habits.careless,
        )
    return RatingWorld(Scale(asked.points), asked.components, asked.difference, habits.careless)
