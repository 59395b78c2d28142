"""Sample size: how many votes a study needs, for alpha, means, win rates and majorities, and the alternatives.

Everything here follows from a few numbers by formulas; what reads votes is in `pilot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, cast

from analytics.statistics.agreement.disagreement import AnyLevel
from analytics.statistics.planning.majority import MajorityPlan, plan_majority
from analytics.statistics.planning.sample_size import (
    SamplePlan,
    StudyDesign,
    VarianceComponents,
    pairable_overlap,
    plan_alpha,
    plan_difference,
    plan_mean,
    plan_preference,
    plan_win_rate,
    root_error_at_overlap,
    vote_components,
)
from analytics.statistics.planning.simulated_pilot import (
    PreferenceWorld,
    Progress,
    RatingScale,
    RatingWorld,
    simulated_pilot,
)

Kind = Literal["rating", "preference"]
Goal = Literal["width", "power", "alpha", "majority"]
OVERLAPS = range(1, 8)
GOALS: Mapping[Kind, tuple[Goal, ...]] = {
    "rating": ("width", "power", "alpha"),
    "preference": ("width", "power", "alpha", "majority"),
}
_AGREEMENT = ("alpha", "alpha_error", "pilot_overlap")
_RATINGS = ("sd_raters", "sd_items", "sd_outputs", "sd_residual")
_PREFERENCES = ("ties", "between_items", "between_raters")
# The numbers of a pilot, or of a paper, that each goal needs.
PILOT_FIELDS: Mapping[tuple[Kind, Goal], tuple[str, ...]] = {
    ("rating", "width"): _RATINGS,
    ("rating", "power"): _RATINGS,
    ("rating", "alpha"): _AGREEMENT,
    ("preference", "width"): _PREFERENCES,
    ("preference", "power"): _PREFERENCES,
    ("preference", "alpha"): _AGREEMENT,
    ("preference", "majority"): ("between_items",),
}


@dataclass(frozen=True)
class PlanRequest:
    """A planner's question. Standard deviations are in the units of the scale; see `analytics.statistics.planning`.

    items: only for a majority, whose votes are asked of each comparison. pilot_overlap: the ratings of a unit in the
    data that alpha_error (free of the number of units) comes from. seconds: for one vote, None where nobody knows.
    points: of the scale, for synthetic raters.
    """

    kind: Kind
    goal: Goal
    systems: int = 2
    overlap: int = 3
    votes_per_rater: int = 40
    panel: bool = False
    confidence: float = 0.95
    power: float = 0.8
    half_width: float = 0.1
    difference: float = 0.3
    win_rate: float = 0.6
    accuracy: float = 0.9
    items: int = 100
    sd_raters: float = 0.0
    sd_items: float = 0.0
    sd_outputs: float = 0.0
    sd_residual: float = 1.0
    ties: float = 0.0
    between_items: float = 0.0
    between_raters: float = 0.0
    alpha: float = 0.5
    alpha_error: float = 1.0
    pilot_overlap: float = 2.0
    seconds: float | None = None
    points: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0, 5.0)
    level: str = "ordinal"

    @property
    def blocks(self) -> int:
        """What is estimated on its own: systems, or pairs of them."""
        return self.systems * (self.systems - 1) // 2 if self.kind == "preference" else self.systems

    @property
    def design(self) -> StudyDesign:
        return StudyDesign(self.blocks, self.items, self.overlap, self.votes_per_rater, self.panel)

    @property
    def components(self) -> VarianceComponents:
        if self.kind == "preference":
            return vote_components(
                self.win_rate,
                ties=self.ties,
                between_items=self.between_items,
                between_raters=self.between_raters,
            )
        return VarianceComponents(
            self.sd_raters**2, self.sd_items**2, self.sd_outputs**2, self.sd_residual**2
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "points": list(self.points)}


@dataclass(frozen=True)
class Alternative:
    """The same target with another overlap."""

    overlap: int
    plan: SamplePlan


@dataclass(frozen=True)
class PlanResult:
    """majority: only where a majority was asked for. hours: of raters' time, None without a time per vote."""

    asked: PlanRequest
    plan: SamplePlan
    alternatives: tuple[Alternative, ...]
    majority: MajorityPlan | None = None

    @property
    def hours(self) -> float | None:
        return rating_hours(self.asked, self.plan)


def rating_hours(request: PlanRequest, plan: SamplePlan) -> float | None:
    if plan.design is None or request.seconds is None:
        return None
    return plan.design.votes * request.seconds / 3600


def plan_study(request: PlanRequest) -> PlanResult:
    """Raises ValueError, naming the number, where one makes no sense."""
    if request.kind == "rating" and request.goal == "majority":
        raise ValueError("A majority is asked for of comparisons, not of ratings.")
    if request.goal == "majority":
        majority = plan_majority(request.accuracy, correlation=request.between_items)
        return PlanResult(request, _majority(request, majority), (), majority)
    overlaps = [k for k in OVERLAPS if k > 1 or request.goal != "alpha"]
    others = tuple(Alternative(k, _plan(replace(request, overlap=k))) for k in overlaps)
    return PlanResult(request, _plan(request), others)


def plan_request_from_json(stored: Mapping[str, Any]) -> PlanRequest:
    known = {field.name for field in fields(PlanRequest)}
    numbers = {name: value for name, value in stored.items() if name in known}
    return PlanRequest(**{**numbers, "points": tuple(numbers.get("points", PlanRequest.points))})


def _plan(request: PlanRequest) -> SamplePlan:
    if request.goal == "alpha":
        return _plan_alpha(request)
    if request.goal == "width":
        plan = plan_win_rate if request.kind == "preference" else plan_mean
        return plan(
            request.components, request.design, half_width=request.half_width, confidence=request.confidence
        )
    if request.kind == "preference":
        return plan_preference(
            request.win_rate,
            request.design,
            ties=request.ties,
            between_items=request.between_items,
            between_raters=request.between_raters,
            power=request.power,
            confidence=request.confidence,
        )
    return plan_difference(
        request.components,
        request.design,
        difference=request.difference,
        power=request.power,
        confidence=request.confidence,
    )


def _plan_alpha(request: PlanRequest) -> SamplePlan:
    """The pilot's error and overlap are of what two votes for a side are left of, so ties come on top."""
    ties = request.ties if request.kind == "preference" else 0.0
    overlap = pairable_overlap(ties, request.overlap)
    moved = abs(overlap - request.pilot_overlap) > 0.5
    error = request.alpha_error
    if moved:
        error = root_error_at_overlap(
            error, request.alpha, pilot_overlap=request.pilot_overlap, overlap=overlap
        )
    return plan_alpha(
        error,
        replace(request.design, blocks=1),
        half_width=request.half_width,
        confidence=request.confidence,
        extrapolated=moved,
        ties=ties,
    )


def _majority(request: PlanRequest, majority: MajorityPlan) -> SamplePlan:
    assumptions = ("beta_items", "majority_is_truth", "random_raters")
    if majority.votes is None:
        return SamplePlan(None, None, assumptions, reason="too_many")
    design = replace(request.design, blocks=1, overlap=majority.votes)
    return SamplePlan(design, majority.accuracy, assumptions)


# Simulated pilot: the planned study with synthetic raters, and its curves.

RUNS = 200
MOST_VOTES = 200_000


@dataclass(frozen=True)
class RaterHabits:
    """How synthetic raters err. careless: share of raters who answer anything. shown_first: of comparisons with nothing
    to choose, the share that what is shown first wins."""

    careless: float = 0.0
    shown_first: float = 0.5


def simulate_plan(
    request: PlanRequest,
    design: StudyDesign,
    habits: RaterHabits,
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
    systems = request.systems if design.blocks == request.blocks else 2 if request.kind == "preference" else 1
    pilot = simulated_pilot(
        _world(request, habits),
        design,
        systems=systems,
        level=cast(AnyLevel, "symmetric" if request.kind == "preference" else request.level),
        runs=runs,
        seed=seed,
        confidence=request.confidence,
        progress=progress,
    )
    return {**asdict(pilot), "habits": asdict(habits), "seed": seed, "systems": systems}


def _world(request: PlanRequest, habits: RaterHabits) -> RatingWorld | PreferenceWorld:
    if request.kind == "preference":
        return PreferenceWorld(
            win_rate=request.win_rate,
            ties=request.ties,
            between_items=request.between_items,
            between_raters=request.between_raters,
            shown_first=habits.shown_first,
            careless=habits.careless,
        )
    return RatingWorld(RatingScale(request.points), request.components, request.difference, habits.careless)
