"""Inter-rater agreement: Krippendorff's alpha with confidence intervals, percent agreement, reliability data."""

from __future__ import annotations

from analytics.statistics.agreement.alpha import (
    Agreement,
    IntervalSettings,
    krippendorff_alpha,
    symmetric_alpha,
)
from analytics.statistics.agreement.disagreement import LEVELS, Level
from analytics.statistics.agreement.first_votes import first_votes, overlap_sample
from analytics.statistics.agreement.patterns import (
    Patterns,
    patterns_from_counts,
    patterns_from_long,
    patterns_from_rows,
)
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.agreement.running_alpha import RunningAlpha

__all__ = [
    "LEVELS",
    "Agreement",
    "IntervalSettings",
    "Level",
    "Patterns",
    "RunningAlpha",
    "first_votes",
    "krippendorff_alpha",
    "overlap_sample",
    "patterns_from_counts",
    "patterns_from_long",
    "patterns_from_rows",
    "percent_agreement",
    "symmetric_alpha",
]
