"""Scores shown to raters: from assignments with what a model had said to the section of the report."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analytics.reports.document import Section
from annotation.models import Answer, Assignment, Judgment, Study
from tests import factories
from tests.analytics.reports.reading import rows_of, sections_of, tables_of
from tests.analytics.reports.reading import text_of as said
from tests.analytics.votes import vote

pytestmark = pytest.mark.django_db

FIRST, SECOND, TIE = Answer.Choice.FIRST, Answer.Choice.SECOND, Answer.Choice.TIE
RULES = {"hints": {"scorer": "cmi-rm", "withheld": 0.5}}


def judge(task, rater, said: dict, *, shown: bool, withheld: float = 0.5, **answer) -> None:
    assignment = Assignment.objects.create(
        task=task, rater=rater, protocol_version=task.study.protocol_version, presentation=[0],
        expires_at=timezone.now(), hint_shown=shown,
        hint={"scorer": "cmi-rm@12345678", "answers": said, "withheld": withheld},
    )  # fmt: skip
    vote(task, rater=rater, assignment=assignment, origin=Judgment.Origin.RATED, **answer)


def sections(study: Study) -> dict[str, Section]:
    return sections_of(study, replicates=50)


def row(section: Section, key: str, place: int = 0) -> dict:
    return rows_of(tables_of(section)[key])[place]


def notes(study: Study, key: str) -> str:
    return " ".join(tables_of(sections(study)["hints"])[key].notes)


@pytest.fixture
def compared() -> Study:
    """Six raters and two pairs: the first was shown and followed by all but one, the second withheld."""
    study = factories.StudyFactory(preset="cmi-pref", overlap=10, rules=RULES)
    raters = [factories.rater(study) for _ in range(6)]
    one, two, even = (factories.comparison_task(study, name) for name in ("one", "two", "even"))
    for place, rater in enumerate(raters):
        seen, unseen = (SECOND if place else FIRST), (SECOND, FIRST, TIE)[place % 3]
        judge(one, rater, {"alignment": 0.2}, shown=True, question="alignment", choice=seen)
        judge(two, rater, {"alignment": 0.7}, shown=False, question="alignment", choice=unseen)
        judge(even, rater, {"alignment": 0.5}, shown=True, question="alignment", choice=FIRST)
    return study


def test_votes_with_the_model_are_told_by_whether_it_was_shown(compared):
    found = sections(compared)
    told = row(found["hints"], "hints-preferences")
    assert (told["shown"], told["withheld"]) == (6, 6)
    assert (told["agree_shown"], told["agree_withheld"]) == (pytest.approx(5 / 6), pytest.approx(0.5))
    assert told["effect"].value == pytest.approx(1 / 3)
    assert told["effect"].low < 1 / 3 < told["effect"].high
    assert "cmi-rm@12345678" in said(found["hints"])
    assert "before 12 judgments, and kept from the rater at random before 6" in said(found["hints"])


def test_votes_are_compared_under_one_withheld_share_and_one_version(compared):
    assert "changed meanwhile" not in notes(compared, "hints-preferences")
    Assignment.objects.update(hint=None, hint_shown=None)
    # Whoever saw it did as the others did.
    for n, (withheld, choice) in enumerate(((0.1, SECOND), (0.9, FIRST))):
        task = factories.comparison_task(compared, f"later-{n}")
        for place in range(10):
            shown = (place < 8) == (withheld == 0.1)
            rater, hint = factories.rater(compared), {"alignment": 0.7}
            judge(task, rater, hint, shown=shown, withheld=withheld, question="alignment", choice=choice)
    told = row(sections(compared)["hints"], "hints-preferences")
    assert (told["shown"], told["withheld"]) == (10, 10)
    assert (told["agree_shown"], told["agree_withheld"]) == (pytest.approx(0.5), pytest.approx(0.5))
    assert told["effect"].value == pytest.approx(0.0)
    assert "changed meanwhile" in notes(compared, "hints-preferences")
    Assignment.objects.filter(hint__withheld=0.9).update(
        hint={"scorer": "cmi-rm@87654321", "answers": {"alignment": 0.7}, "withheld": 0.1}
    )
    assert row(sections(compared)["hints"], "hints-preferences")["effect"].value == pytest.approx(0.0)


def test_agreement_and_methods_say_that_scores_were_shown(compared):
    found = sections(compared)
    assert "Before 12 judgments raters were shown what a model says" in said(found["agreement"])
    assert "drawn at random for each rater and task" in said(found["methods"])


def test_ratings_are_held_against_what_the_model_expected():
    study = factories.StudyFactory(overlap=9, rules=RULES)
    tasks = [factories.rating_task(study, f"task-{n}") for n in range(4)]
    for _ in range(5):
        rater = factories.rater(study)
        for place, task in enumerate(tasks):
            shown = place < 2
            value = (2, 4)[place % 2] if shown else 3
            judge(task, rater, {"correctness": 1.0 + 2 * (place % 2)}, shown=shown, value=value)
    blocks = sections(study)["hints"]
    distance, slope = (row(blocks, "hints-ratings", place) for place in (0, 1))
    assert (distance["value_shown"], distance["value_withheld"]) == (1.0, 1.0)
    assert (slope["value_shown"], slope["value_withheld"]) == (pytest.approx(1.0), pytest.approx(0.0))
    assert (slope["effect"].value, slope["effect"].low) == (pytest.approx(1.0), None)
    assert "figures are equal" in slope["effect"].reason


def test_a_study_that_showed_nothing_has_no_such_section_and_says_so(compared):
    Assignment.objects.update(hint=None, hint_shown=None)
    found = sections(compared)
    assert "hints" not in found
    assert "were shown what" not in said(found["agreement"])
    assert "Raters were shown no scores of models." in said(found["methods"])
