"""The section on preferences of votes in the database: confidence, two questions of one person, ABX."""

from __future__ import annotations

import pytest

from analytics.data import known_answer_trials
from analytics.reports.document import Figure, Measured, Section, Table
from analytics.reports.sections.preferences import preferences_section
from analytics.statistics.intervals import wilson_interval
from annotation.models import Answer, Question, Rater, Study, Task
from tests import factories
from tests.analytics.reports.reading import material_of, tables_of
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db

FIRST, SECOND = Answer.Choice.FIRST, Answer.Choice.SECOND


def section(study: Study) -> Section | None:
    return preferences_section(material_of(study, replicates=10))


def tables(study: Study) -> dict[str, Table]:
    return tables_of(section(study))


def both(task: Task, rater: Rater, alignment: int, musicality: int, *, sure: tuple[float, float]) -> None:
    """One judgment with an answer to either question of the study."""
    judgment = vote(
        task, choice=alignment, confidence=sure[0], question="alignment", rater=rater, presentation=[0, 1]
    )
    Answer.objects.create(
        judgment=judgment,
        task=task,
        question=Question.objects.get(protocol_version=task.study.protocol_version, key="musicality"),
        choice=musicality,
        confidence=sure[1],
        counted=True,
    )


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    raters = [factories.rater(study) for _ in range(3)]
    one, other = (factories.comparison_task(study, name) for name in ("a", "b"))
    both(one, raters[0], FIRST, FIRST, sure=(5, 4))
    both(one, raters[1], FIRST, SECOND, sure=(4, 2))
    both(one, raters[2], SECOND, SECOND, sure=(1, 3))
    both(other, raters[0], SECOND, SECOND, sure=(2, 4))
    both(other, raters[1], SECOND, FIRST, sure=(4, 1))
    return study


def test_pairs_of_votes_are_counted_for_every_question(study):
    rows = {row[0]: row[1:5] for row in tables(study)["preferences-agreement"].rows}
    # Alignment: one against two, and two alike. Musicality: one against two, and one against one.
    assert rows == {
        "Which follows the instruction better?": (2, 5, 2, 2),
        "Which is better music?": (2, 5, 1, 3),
    }


def test_two_answers_of_one_person_are_compared(study):
    (row,) = tables(study)["preferences-same"].rows
    assert row[2:4] == (3, 2)
    assert row[4].value == 0.6
    # Alike: 5, 1 and 2 with 4, 3 and 4; different: 4 and 4 with 2 and 1.
    assert row[5:] == pytest.approx((8 / 3, 11 / 3, 4, 1.5))


def test_confidence_is_told_against_what_the_others_say(study):
    rows = {row[0]: row[1:] for row in tables(study)["preferences-alignment-confidence"].rows}
    assert {level: n for level, (n, *_) in rows.items()} == {"1": 1, "2": 1, "4": 2, "5": 1}
    # Of the three on one pair, each of those who agree sees one vote either way; the third sees two against.
    assert {level: (compared, by_rater.value) for level, (_, _, compared, by_rater, _) in rows.items()} == {
        "1": (1, 0.0), "2": (1, 1.0), "4": (1, 1.0), "5": (0, None),
    }  # fmt: skip


def test_agreement_is_told_below_at_and_above_the_middle_of_the_scale(study):
    rows = tables(study)["preferences-alignment-confidence-agreement"].rows
    assert [row[0] for row in rows] == ["< 3", "= 3", "> 3"]
    # Above: two of the first pair, alike. Below: one vote of either pair, so nothing to compare.
    assert [row[1:5] for row in rows] == [(0, 0, 0, 0), (0, 0, 0, 0), (1, 2, 1, 0)]


def test_the_ranking_by_confidence_stands_beside_the_plain_one_and_both_questions_share_a_figure(study):
    columns = [column.key for column in tables(study)["preferences-alignment-by-confidence"].columns]
    assert columns[1:4] == ["strength_plain", "strength_margin", "strength_weight"]
    figures = [block.key for block in section(study).blocks if isinstance(block, Figure)]
    assert figures[-1] == "preferences-confidence"
    assert section(study) == section(study)


def test_without_votes_on_preferences_there_is_no_section(study):
    assert section(factories.StudyFactory(preset="cmi-pref")) is None
    assert section(factories.StudyFactory()) is None


def test_an_abx_test_is_a_table_with_its_chance_of_guessing(monkeypatch):
    tested = known_answer_trials.Discrimination("codec / original", 8, 6, 0.75, 37 / 256)
    monkeypatch.setattr(
        known_answer_trials, "abx_report", lambda study: known_answer_trials.AbxReport(tested, (tested,), ())
    )
    share = Measured(0.75, *wilson_interval(6, 8, level=0.95))
    assert tables(factories.StudyFactory())["preferences-abx"].rows == [
        ("codec / original", 8, 6, share, 37 / 256),
        ("All pairs", 8, 6, share, 37 / 256),
    ]
