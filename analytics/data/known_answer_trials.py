"""Trials with a known answer: ABX tests by pair and rater, and post-screening of MUSHRA listeners (BS.1534)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
_OF_PAIR = """
JOIN annotation_taskcandidate t0 ON t0.task_id = said.task_id AND t0.slot = 0
JOIN annotation_taskcandidate t1 ON t1.task_id = said.task_id AND t1.slot = 1
JOIN annotation_candidate c0 ON c0.id = t0.candidate_id JOIN annotation_system s0 ON s0.id = c0.system_id
JOIN annotation_candidate c1 ON c1.id = t1.candidate_id JOIN annotation_system s1 ON s1.id = c1.system_id
"""


@dataclass(frozen=True)
class CorrectAnswers:
    """Answers to ABX questions by pair of systems or by rater: how many, and how many named what X was."""

    name: str
    n: int
    correct: int


def screening_ratings(study: Study) -> list[RoleRatings]:
    """Ratings of hidden references and mid anchors, from 0 to 100, by rater."""
    if not (questions := screening_questions(study)):
        return []
    rows = fetch_rows(_SCREENING, questions=questions, limit=SCREENING_LIMIT)
    return [RoleRatings(*row) for row in rows]


def abx_by_pair(study: Study) -> list[CorrectAnswers]:
    """By the two systems, whichever the task lists first."""
    name = "least(s0.name, s1.name) || ' / ' || greatest(s0.name, s1.name)"
    return _abx(study, name=name, joined=_OF_PAIR)


def abx_by_rater(study: Study) -> list[CorrectAnswers]:
    return _abx(study, name="r.pseudonym", joined="JOIN annotation_rater r ON r.id = j.rater_id")


def _abx(study: Study, **parts: str) -> list[CorrectAnswers]:
    if not (questions := abx_questions(study)):
        return []
    rows = fetch_rows(_ABX.format(**parts), questions=questions, study=study.pk)
    return [CorrectAnswers(*row) for row in rows]


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
    pairs, raters = abx_by_pair(study), abx_by_rater(study)
    if not pairs:
        return None
    n, correct = sum(row.n for row in pairs), sum(row.correct for row in pairs)
    return AbxReport(
        _binomial_test(CorrectAnswers("", n, correct)), _binomial_tests(pairs), _binomial_tests(raters)
    )


def screened_raters(study: Study) -> dict[str, ScreenedListener]:
    """Every listener who rated a hidden reference or a mid anchor, by pseudonym."""
    return screen_listeners(screening_ratings(study))


def trials_json(abx: AbxReport | None, listeners: Mapping[str, ScreenedListener]) -> dict[str, Any]:
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


def screening_from_json(stored: Mapping[str, Any]) -> dict[str, ScreenedListener]:
    return {
        rater: ScreenedListener(**{**found, "marks": tuple(found["marks"])})
        for rater, found in stored.get("screening", {}).items()
    }


def _binomial_tests(rows: Iterable[CorrectAnswers]) -> tuple[Discrimination, ...]:
    return tuple(_binomial_test(row) for row in rows)


def _binomial_test(row: CorrectAnswers) -> Discrimination:
    guessing = one_sided_binomial_p(row.correct, row.n)
    assert guessing is not None  # rows have answers
    return Discrimination(row.name, row.n, row.correct, row.correct / row.n, guessing)
