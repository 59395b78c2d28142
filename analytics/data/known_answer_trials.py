"""Trials with a known answer: ABX tests by pair and rater, and post-screening of MUSHRA listeners (BS.1534)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from analytics.data.counted_judgments import COUNTED_ANSWERS_SQL
from analytics.data.postgres import fetch_rows
from analytics.data.questions import abx_questions, screening_questions
from analytics.statistics.intervals import one_sided_binomial_p
from analytics.statistics.raters.screening import (
    SCREENING_LIMIT,
    RoleRatings,
    ScreenedListener,
    screen_listeners,
)
from annotation.models import Study, System
from annotation.rating import counted

# Marks do not depend on whom somebody has excluded since: a judgment that stands counts here, excluded or not.
_STANDING_RATINGS = f"""
FROM annotation_answer a
JOIN annotation_judgment j ON j.id = a.judgment_id AND {counted.STANDING}
JOIN annotation_task t ON t.id = j.task_id AND {counted.REGULAR_TASK}
JOIN annotation_rater r ON r.id = j.rater_id
JOIN annotation_candidate c ON c.id = a.candidate_id
JOIN annotation_system s ON s.id = c.system_id
WHERE a.question_id = ANY(%(questions)s) AND a.value IS NOT NULL
"""

_SCREENING = f"""
SELECT r.pseudonym, s.role, count(*), count(*) FILTER (WHERE a.value < %(limit)s),
       count(*) FILTER (WHERE a.value > %(limit)s)
{_STANDING_RATINGS} AND s.role IN ('{System.Role.HIDDEN_REFERENCE}', '{System.Role.ANCHOR_7000}')
GROUP BY r.pseudonym, s.role
"""

# X is the third shown (arrays begin at 1), and slots from 0 have choices from 1.
_ABX = f"""
WITH said AS (
    SELECT a.task_id, a.judgment_id, a.choice {COUNTED_ANSWERS_SQL} AND a.choice IS NOT NULL
)
SELECT {{name}}, count(*), count(*) FILTER (WHERE said.choice = j.presentation[3] + 1)
FROM said JOIN annotation_judgment j ON j.id = said.judgment_id AND cardinality(j.presentation) = 3
{{joined}}
GROUP BY 1 ORDER BY 1
"""
# Whichever of the two systems the task lists first.
_PAIR_NAME = "least(s0.name, s1.name) || ' / ' || greatest(s0.name, s1.name)"
_OF_RATER = "JOIN annotation_rater r ON r.id = j.rater_id"
_OF_PAIR = """
JOIN annotation_taskcandidate t0 ON t0.task_id = said.task_id AND t0.slot = 0
JOIN annotation_taskcandidate t1 ON t1.task_id = said.task_id AND t1.slot = 1
JOIN annotation_candidate c0 ON c0.id = t0.candidate_id JOIN annotation_system s0 ON s0.id = c0.system_id
JOIN annotation_candidate c1 ON c1.id = t1.candidate_id JOIN annotation_system s1 ON s1.id = c1.system_id
"""


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
    if not (questions := abx_questions(study)):
        return None
    pairs, raters = (
        fetch_rows(_ABX.format(name=name, joined=joined), questions=questions, study=study.pk)
        for name, joined in ((_PAIR_NAME, _OF_PAIR), ("r.pseudonym", _OF_RATER))
    )
    if not pairs:
        return None
    total = _discrimination("", sum(n for _, n, _ in pairs), sum(correct for _, _, correct in pairs))
    of_pairs, of_raters = (tuple(_discrimination(*row) for row in rows) for rows in (pairs, raters))
    return AbxReport(total, of_pairs, of_raters)


def screened_raters(study: Study) -> dict[str, ScreenedListener]:
    """Every listener who rated a hidden reference or a mid anchor from 0 to 100, by pseudonym."""
    if not (questions := screening_questions(study)):
        return {}
    rows = fetch_rows(_SCREENING, questions=questions, limit=SCREENING_LIMIT)
    return screen_listeners(RoleRatings(*row) for row in rows)


def trials_json(study: Study) -> dict[str, Any]:
    """For the stored overview."""
    abx, listeners = abx_report(study), screened_raters(study)
    return {
        "abx": None if abx is None else asdict(abx),
        "screening": {rater: asdict(screened) for rater, screened in listeners.items()},
    }


def abx_from_json(stored: Mapping[str, Any]) -> AbxReport | None:
    if (abx := stored.get("abx")) is None:
        return None
    pairs, raters = (tuple(Discrimination(**one) for one in abx[name]) for name in ("pairs", "raters"))
    return AbxReport(Discrimination(**abx["total"]), pairs, raters)


def screening_from_json(stored: Mapping[str, Any]) -> dict[str, ScreenedListener]:
    return {
        rater: ScreenedListener(**{**screened, "marks": tuple(screened["marks"])})
        for rater, screened in stored.get("screening", {}).items()
    }


def _discrimination(name: str, n: int, correct: int) -> Discrimination:
    guessing = one_sided_binomial_p(correct, n)
    assert guessing is not None  # there are answers
    return Discrimination(name, n, correct, correct / n, guessing)
