"""How a ranking is asked for, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.ranking_intervals import Interval
from analytics.statistics.ranking_tables import Confidence

WALD = "wald"

# A fit solves for all strengths at once: this is for systems, not for the items they made.
MAX_SYSTEMS = 500

SENTENCES = {
    "no_comparisons": "No vote compares this system with another.",
    "only_ties": "Every vote is a tie, so there is no telling how much a difference would count.",
    "separated": "Some systems never lost to the others, so nothing bounds how much better they are. "
    "More votes, or a ridge, would.",
    "undetermined": "The votes cannot tell strengths from the advantage of being shown first: "
    "pairs need to be shown in both orders.",
    "disconnected": "Comparisons do not join all systems: strengths and ranks hold within each group alone.",
    "too_many": f"There are more than {MAX_SYSTEMS} systems, too many to be ranked together.",
    "one_cluster": "All votes belong together, so they cannot say how uncertain this is.",
    "few_clusters": "Fewer than five raters or prompts cannot say how uncertain this is.",
    "mostly_undefined": "In most resamples of the votes the strengths are not defined, so there is no interval.",
    "weighted": "Weighted votes do not hold the information that their weights add up to: resample them instead.",
}


@dataclass(frozen=True)
class RankingSettings:
    """How to rank. Raises ValueError for values that make no sense.

    intervals: "votes" draws votes anew, as if independent; the name of a clustering ("rater", "prompt") draws its
    clusters, each with all its votes; "wald" takes the inverse information, which is fast and treats votes as
    independent. Where raters differ or prompts favour a system, only the clustered ones are honest.
    confidence: "margin" reads it as how far the preferred system is ahead, in ordered steps; "weight" multiplies each
    vote by `weights` of its confidence, or by confidence / highest confidence given. Votes without one are then left
    out and counted, but for ties under "margin".
    ridge: see `ranking_fit.Design`; 0 gives maximum likelihood. position: estimate what being shown first is worth.
    """

    intervals: str
    confidence: Confidence = "ignore"
    weights: Mapping[float, float] | None = None
    ridge: float = 0.0
    position: bool = False
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.confidence not in ("ignore", "weight", "margin"):
            raise ValueError(f"Confidence is ignored, a weight or a margin; got {self.confidence!r}.")
        if not (math.isfinite(self.ridge) and self.ridge >= 0):
            raise ValueError(f"A ridge is a finite number of zero or more; got {self.ridge}.")
        if self.weights is not None and self.confidence != "weight":
            raise ValueError("Weights are given, but confidence is not used as a weight.")


@dataclass(frozen=True)
class Figure:
    value: float
    interval: Interval | None


@dataclass(frozen=True)
class RankedSystem:
    """A line of the ranking. Votes are counted whole, whatever their confidence.

    strength: log-odds against the mean of the group. win_rate: (wins + ties / 2) / (wins + losses + ties), None where
    there are none of these; its interval comes from resampling, so Wald's ranking has none.
    """

    system: str
    strength: float | None
    interval: Interval | None
    rank: int | None
    rank_interval: tuple[int, int] | None
    wins: int
    losses: int
    ties: int
    both_bad: int
    win_rate: float | None
    win_rate_interval: Interval | None


@dataclass(frozen=True)
class RankedGroup:
    """Systems that comparisons join, best first; without strengths by win rate.

    blocks: groups of which none ever lost to a later one; with more than one, only a ridge gives strengths.
    nu: Davidson's tie parameter; thresholds: of the ordered margins, without the 0 there is where no vote is a tie.
    first_shown: log-odds that being shown first adds. reason: why there are no strengths; interval_reason: why no
    intervals. degenerate: of the replicates, how many left the strengths undefined; intervals rest on the others.
    """

    systems: tuple[RankedSystem, ...]
    blocks: tuple[tuple[str, ...], ...]
    nu: Figure | None = None
    thresholds: tuple[Figure, ...] = ()
    first_shown: Figure | None = None
    reason: str | None = None
    interval_reason: str | None = None
    degenerate: int = 0


@dataclass(frozen=True)
class Ranking:
    """Groups, largest first; their strengths cannot be compared with each other's.

    votes: all that were counted, among them those both bad and those left out for want of a confidence.
    clusters: how many votes, raters or prompts were drawn from; 0 with Wald's intervals. reason: "disconnected".
    """

    settings: RankingSettings
    groups: tuple[RankedGroup, ...]
    votes: int
    both_bad: int
    without_confidence: int
    clusters: int
    reason: str | None
