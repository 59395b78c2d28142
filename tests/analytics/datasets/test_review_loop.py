"""The report after real decisions: raters vote, an expert corrects, others judge the new text."""

from __future__ import annotations

import pytest

from analytics.reports.review_report import review_report
from analytics.review.item_history import item_history
from annotation.items import locks, versions
from annotation.models import Rater, Task
from annotation.rating import exclusions
from annotation.review import adjudication
from tests import factories
from tests.analytics.datasets.exported import exported
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, give, judged, people

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.StudyFactory(overlap=2)


def ratings(study) -> dict[str, int]:
    parts = review_report(study)["questions"][0]["parts"]
    return {part: parts[part]["ratings"] for part in ("before", "excluded", "kept", "rejudged", "after")}


def test_a_correction_sets_votes_aside_and_new_ones_stand_beside_the_old_in_the_report(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    other = factories.rating_task(study, "b")
    first = people(study, 2)
    for value, user in ((1, first[0]), (5, first[1])):
        give(user, task, rating(value))
        give(user, other, rating(3))
    case = judged(expert, task)
    adjudication.correct_item(expert, case.pk, corrections(case))
    give(people(study, 1)[0], Task.objects.get(replaces=task), rating(4))

    assert ratings(study) == {"before": 4, "excluded": 2, "kept": 2, "rejudged": 1, "after": 3}
    flow = review_report(study)["flow"]
    assert (flow["decisions"], flow["rejudging"]) == (
        {"corrected": 1},
        {"tasks": 1, "judgments": 1, "wanted": 1},
    )
    assert review_report(study)["questions"][0]["blind"]["with_raters"] == 1
    (corrected,), (told,) = exported(study, "corrections"), exported(study, "cases")
    assert (corrected["case"], corrected["version_after"]) == (told["case"], 2)
    given = [
        (one["item"], one["item_version"], one["origin"], one["exclusion_reason"])
        for one in exported(study, "judgments")
    ]
    assert given.count(("a", 1, "rated", "item_corrected")) == 2
    assert given.count(("a", 1, "expert", "")) == given.count(("a", 2, "rated", "")) == 1


def test_an_undone_correction_leaves_the_report_as_it_was_but_for_the_undoing(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    for user in people(study, 2):
        give(user, task, rating(2))
    case = judged(expert, task)
    adjudication.correct_item(expert, case.pk, corrections(case))
    adjudication.undo_decision(expert, case.pk)
    assert ratings(study) == {"before": 2, "excluded": 0, "kept": 2, "rejudged": 0, "after": 2}
    found = review_report(study)
    assert (found["corrections"]["n"], found["corrections"]["undone"], found["flow"]["undone"]) == (0, 1, 1)
    assert found["flow"]["rejudging"] == {"tasks": 0, "judgments": 0, "wanted": 0}


def test_the_history_of_an_undone_decision_keeps_what_was_said_with_it(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    case = judged(expert, task)
    for comment in ("All is heard.", "It is, after all."):
        adjudication.approve_item(expert, case.pk, comment=comment)
        adjudication.undo_decision(expert, case.pk)
    told = {}
    for votes_up_to in (None, 0):
        entries = item_history(task.item_version.item, votes_up_to=votes_up_to).entries
        told[votes_up_to] = [entry.about.get("comment") for entry in entries if entry.kind == "decided"]
    assert told == {None: ["All is heard.", "It is, after all."], 0: [None, None]}


def test_what_a_model_writes_anew_is_no_review_not_even_after_an_undone_correction(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    for user in people(study, 2):
        give(user, task, rating(2))
    case = judged(expert, task)
    adjudication.correct_item(expert, case.pk, corrections(case))
    adjudication.undo_decision(expert, case.pk)
    adjudication.approve_item(expert, case.pk)
    item = locks.lock_item(task.item_version.item_id)
    versions.make_version(item, {"rationale": "As a model says."}, actor=None)
    assert Task.objects.filter(replaces=task, state=Task.State.READY).exists()
    assert set(ratings(study).values()) == {0}
    assert review_report(study)["flow"]["rejudging"] == {"tasks": 0, "judgments": 0, "wanted": 0}


def test_a_withdrawn_item_is_set_aside(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    for user in people(study, 2):
        give(user, task, rating(2))
    case = judged(expert, task)
    adjudication.withdraw_case_item(expert, case.pk, comment="Nothing is heard.")
    assert ratings(study) == {"before": 2, "excluded": 2, "kept": 0, "rejudged": 0, "after": 0}


def test_a_careless_raters_votes_on_a_corrected_text_are_in_no_part_and_taken_back_are_still_set_aside(study):
    task, expert = factories.rating_task(study, "a"), factories.member(study, "expert")
    careless, other = people(study, 2)
    for user in (careless, other):
        give(user, task, rating(2))
    case = judged(expert, task)
    adjudication.correct_item(expert, case.pk, corrections(case))
    rater = Rater.objects.get(user=careless).pseudonym
    for action, n in (("exclude", 1), ("restore", 2)):
        said = exclusions.judgments_of_rater(study, rater)
        exclusions.exclude_or_restore(said, study=study, action=action, reason="careless", actor=None)
        assert ratings(study) == {"before": n, "excluded": n, "kept": 0, "rejudged": 0, "after": 0}
