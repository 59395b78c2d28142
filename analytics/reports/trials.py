"""What trials with a known answer tell: ABX tests by pair and rater, and the post-screening of MUSHRA listeners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analytics import frames
from analytics.frames import RightAnswers
from analytics.statistics.binomial import by_guessing
from analytics.statistics.screening import Screened, screen
from annotation.models import Study


@dataclass(frozen=True)
class Discrimination:
    """How many of `n` answers were right. `guessing` is the chance of so many or more by guessing alone."""

    name: str
    n: int
    correct: int
    share: float
    guessing: float


@dataclass(frozen=True)
class AbxReport:
    """All answers together, then by the two systems compared, then by named rater."""

    total: Discrimination
    pairs: tuple[Discrimination, ...]
    raters: tuple[Discrimination, ...]


def abx_report(study: Study) -> AbxReport | None:
    """None where nobody has answered an ABX question yet."""
    pairs, raters = frames.abx_by_pair(study), frames.abx_by_rater(study)
    if not pairs:
        return None
    n, correct = sum(row.n for row in pairs), sum(row.correct for row in pairs)
    return AbxReport(_tested(RightAnswers("", n, correct)), _all_tested(pairs), _all_tested(raters))


def screened(study: Study) -> dict[str, Screened]:
    """Every listener who rated a hidden reference or a mid anchor, by pseudonym."""
    return screen(frames.screening_ratings(study))


def as_json(abx: AbxReport | None, listeners: Mapping[str, Screened]) -> dict[str, Any]:
    """For the stored overview."""
    return {
        "abx": None if abx is None else asdict(abx),
        "screening": {rater: asdict(found) for rater, found in listeners.items()},
    }


def abx_from_json(stored: Mapping[str, Any]) -> AbxReport | None:
    found = stored.get("abx")
    if found is None:
        return None
    pairs, raters = (tuple(Discrimination(**one) for one in found[name]) for name in ("pairs", "raters"))
    return AbxReport(Discrimination(**found["total"]), pairs, raters)


def screening_from_json(stored: Mapping[str, Any]) -> dict[str, Screened]:
    return {
        rater: Screened(**{**found, "marks": tuple(found["marks"])})
        for rater, found in stored.get("screening", {}).items()
    }


def _all_tested(rows: Iterable[RightAnswers]) -> tuple[Discrimination, ...]:
    return tuple(_tested(row) for row in rows)


def _tested(row: RightAnswers) -> Discrimination:
    guessing = by_guessing(row.correct, row.n)
    assert guessing is not None  # rows have answers
    return Discrimination(row.name, row.n, row.correct, row.correct / row.n, guessing)
