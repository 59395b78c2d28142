"""The same alpha, computed a second time by the `krippendorff` package."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

from analytics.reports.agreement import QuestionAgreement
from analytics.statistics.agreement import Level

# Two exact ways to one figure differ by rounding alone.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SecondOpinion:
    """The package's alpha and how far it is from ours; `reason` says why there is nothing to compare."""

    alpha: float | None
    difference: float | None
    differs: bool
    reason: str | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def second_opinion(ours: QuestionAgreement) -> SecondOpinion:
    # Under GPL-3.0-or-later, so it is loaded only when somebody asks for it.
    from analytics.statistics import oracle

    if ours.alpha.alpha is None:
        return SecondOpinion(None, None, differs=False, reason=ours.alpha.reason)
    try:
        theirs = oracle.package_alpha(ours.patterns, level=cast(Level, ours.alpha.level))
    except ValueError as error:
        return SecondOpinion(None, None, differs=False, reason=str(error))
    if theirs is None:
        return SecondOpinion(None, None, differs=True, reason="The package finds alpha undefined.")
    difference = abs(theirs - ours.alpha.alpha)
    return SecondOpinion(theirs, difference, differs=difference > ROUNDING, reason=None)
