"""What every section of a report is made from: the study, its votes, and how figures are asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from analytics.statistics.bootstrap import Resampling
from analytics.vote_frames import Votes
from annotation.models import Study

# jackknife: over units. units, items: bootstrap over units, or over items (each prompt or question with all its units).
Interval = Literal["jackknife", "units", "items"]


@dataclass(frozen=True)
class ReportSettings:
    """`interval` is that of Krippendorff's alpha; other figures are resampled by clusters, as each says."""

    interval: Interval = "jackknife"
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True)
class Material:
    """`votes`: by question, in the order asked; all votes with their marks, so take `.counted()` for most figures."""

    study: Study
    votes: tuple[Votes, ...]
    settings: ReportSettings
