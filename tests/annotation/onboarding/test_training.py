"""Training: tasks come in order through the ordinary calls, each answer gets feedback, and the pass mark decides."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput
from annotation.models import Assignment, GoldKey, Judgment, Rater, Task, TrainingRun
from annotation.onboarding import consent, onboarding_settings, path, training
from annotation.rating import leases
from tests import factories
from tests.annotation.importing.answers import rating

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Two training tasks that expect 5 and 1 (give or take 1), listed in that order, and a regular one."""
    study = factories.StudyFactory(slug="s")
    factories.rating_task(study, "regular")
    ids = []
    for name, value in (("low", 1.0), ("high", 5.0)):
        task = factories.rating_task(study, name)
        Task.objects.filter(pk=task.pk).update(kind=Task.Kind.TRAINING)
        GoldKey.objects.create(
            task=task,
            question_key="correctness",
            value=value,
            tolerance=1,
            explanation={"en": f"It is {name}.", "zh-hans": "。"},
        )
        ids.insert(0, task.pk)
    asked = {"required": True, "pass_mark": 2, "attempts": 2}
    return onboarding_settings.set_onboarding(study, actor=None, training=asked, tasks=ids)


@pytest.fixture
def me(study, api):
    return api(factories.member(study))


def answer(me, value: float, *, client_id: str = "", assignment: str = ""):
    assignment = assignment or me.post("studies/s/next/").json()["assignment"]["id"]
    body = {"client_id": client_id or str(uuid.uuid4()), "answers": list(rating(value).answers)}
    return me.post(f"assignments/{assignment}/judgment/", body)


def attempt(me, *values: float) -> list:
    assert me.post("studies/s/onboarding/training/").status_code == 200
    return [answer(me, value).json()["feedback"] for value in values]


def state(me) -> str | None:
    steps = me.get("studies/s/onboarding/").json()["steps"]
    return steps[-1]["state"]


def test_no_task_comes_before_the_training_is_begun(me):
    refused = me.post("studies/s/next/")
    assert (refused.status_code, refused.json()["title"]) == (409, "training_due")


def test_training_comes_in_its_order_with_feedback_and_then_the_regular_tasks(me):
    me.post("studies/s/onboarding/training/")
    shown = me.post("studies/s/next/").json()["assignment"]
    assert shown["training"] == {"number": 1, "tasks": 2}
    assert shown["listening"]["change_minutes"] == 0
    feedback = answer(me, 4, assignment=shown["id"]).json()["feedback"]
    assert feedback["passed"]
    assert feedback["questions"] == [
        {
            "question": "correctness",
            "right": True,
            "expected": {"value": 5.0},
            "tolerance": 1.0,
            "explanation": {"en": "It is high.", "zh-hans": "。"},
        }
    ]
    last = answer(me, 1).json()["feedback"]
    assert (last["state"], last["n_correct"], last["needed"]) == ("passed", 2, 2)
    regular = me.post("studies/s/next/").json()["assignment"]
    assert "training" not in regular
    assert "feedback" not in answer(me, 3, assignment=regular["id"]).json()


def test_whoever_fails_may_try_again_as_often_as_the_study_allows(me):
    assert [each["passed"] for each in attempt(me, 1, 1)] == [False, True]
    assert state(me) == "due"
    assert attempt(me, 1, 5)[-1]["state"] == "failed"
    assert state(me) == "failed"
    refused = me.post("studies/s/onboarding/training/")
    assert (refused.status_code, refused.json()["title"]) == (409, "training_failed")


def test_a_researcher_allows_another_attempt(me, study):
    attempt(me, 1, 1), attempt(me, 1, 1)
    training.require_again(Rater.objects.get(), actor=None, reason="A bad line.")
    assert state(me) == "due"
    assert attempt(me, 5, 1)[-1]["state"] == "passed"


def test_training_counts_nowhere_as_a_judgment(me, study):
    attempt(me, 5, 1)
    rater = Rater.objects.get()
    assert (rater.n_judgments, rater.n_done) == (0, 0)
    assert set(Task.objects.values_list("n_judgments", "n_leases")) == {(0, 0)}


def test_a_task_answered_twice_keeps_its_first_answer(me):
    me.post("studies/s/onboarding/training/")
    assignment = me.post("studies/s/next/").json()["assignment"]["id"]
    mine = str(uuid.uuid4())
    first = answer(me, 1, client_id=mine, assignment=assignment)
    replay = answer(me, 1, client_id=mine, assignment=assignment)
    assert (first.status_code, replay.status_code) == (201, 200)
    assert replay.json()["feedback"] == first.json()["feedback"]
    again = answer(me, 5, assignment=assignment)
    assert (again.status_code, again.json()["title"]) == (409, "already_submitted")
    changed = me.post(
        f"assignments/{assignment}/revisions/",
        {"client_id": str(uuid.uuid4()), "answers": list(rating(5).answers)},
    )
    assert (changed.status_code, changed.json()["title"]) == (409, "window_closed")
    assert Judgment.objects.count() == 1


def test_an_answer_beside_the_one_that_counts_hears_nothing_of_what_was_expected(me):
    me.post("studies/s/onboarding/training/")
    before = me.post("studies/s/next/").json()["assignment"]["id"]
    me.post(f"assignments/{before}/give-back/")
    me.post("studies/s/next/")
    assert Assignment.objects.count() == 2
    beside = answer(me, 1, assignment=before).json()
    assert set(beside) == {"client_id"}
    assert answer(me, 5).json()["feedback"]["passed"]


def test_in_another_attempt_a_late_answer_counts_like_any_other(me):
    attempt(me, 1, 1)
    me.post("studies/s/onboarding/training/")
    late = me.post("studies/s/next/").json()["assignment"]["id"]
    me.post(f"assignments/{late}/give-back/")
    assert answer(me, 5, assignment=late).json()["feedback"]["n_answered"] == 1


def test_tasks_are_fetched_ahead_without_running_into_the_regular_ones(me):
    me.post("studies/s/onboarding/training/")
    first = me.post("studies/s/next/").json()["assignment"]["id"]
    second = me.post("studies/s/next/", {"holding": [first]}).json()["assignment"]["id"]
    assert first != second
    assert me.post("studies/s/next/", {"holding": [first, second]}).json()["assignment"] is None
    assert me.post("studies/s/next/").json()["assignment"]["id"] == first  # a reload


def test_a_training_task_cannot_be_skipped(me):
    me.post("studies/s/onboarding/training/")
    assignment = me.post("studies/s/next/").json()["assignment"]["id"]
    skipped = me.post(f"assignments/{assignment}/skip/", {"reason": "audio"})
    assert (skipped.status_code, skipped.json()["title"]) == (409, "training_not_skipped")


def test_two_tabs_begin_one_run(me):
    for _ in range(2):
        me.post("studies/s/onboarding/training/")
    assert TrainingRun.objects.count() == 1


def test_after_a_gap_and_after_a_new_consent_training_is_due_again(me, study):
    attempt(me, 5, 1)
    asked = {"again_minutes": 60, "again_with_consent": True}
    onboarding_settings.set_onboarding(study, actor=None, training=asked)
    assert state(me) == "done"
    earlier = timezone.now() - timedelta(minutes=61)
    TrainingRun.objects.update(finished_at=earlier)
    # Work since the training counts as well: nobody is sent back who has just rated.
    assert state(me) == "done"
    Rater.objects.update(cleared_until=earlier, last_judgment_at=earlier)
    rater = Rater.objects.select_related("study").get()
    rules = onboarding_settings.OnboardingRules.of(rater.study.rules).training
    runs = [path.Run(1, "passed", earlier)]
    standing = path.rules.training_standing(rules, runs, last_work=earlier, now=timezone.now())
    assert (standing.state, standing.attempts_left) == ("due", 2)
    for number in (1, 2):
        consent.publish_version(study, texts={"en": f"Text {number}"}, reconsent="everybody", actor=None)
        onboarding_settings.set_onboarding(study, actor=None, consent=True)
        consent.decide(rater, version=number, accepted=True, language="en")
    assert state(me) == "due"


def test_a_run_ends_without_a_task_that_was_withdrawn_in_the_middle(me, study):
    me.post("studies/s/onboarding/training/")
    answer(me, 5)
    Task.objects.filter(external_id="low").update(state=Task.State.WITHDRAWN)
    assert me.post("studies/s/next/").json()["assignment"] is None
    assert TrainingRun.objects.get().state == "passed"
    assert "training" not in me.post("studies/s/next/").json()["assignment"]


def test_leases_of_regular_tasks_wait_while_training_is_due(me, study):
    attempt(me, 5, 1)
    held = me.post("studies/s/next/").json()["assignment"]["id"]
    training.require_again(Rater.objects.get(), actor=None, reason="Rules have changed.")
    assert me.post("studies/s/next/").json()["title"] == "training_due"
    attempt(me, 5, 1)
    assert me.post("studies/s/next/").json()["assignment"]["id"] == held
    assert Assignment.objects.get(pk=held).state == Assignment.State.OPEN


def test_a_pass_mark_above_the_number_of_tasks_is_refused(study):
    with pytest.raises(InvalidInput) as refused:
        onboarding_settings.set_onboarding(study, actor=None, training={"pass_mark": 3})
    problem = refused.value.problems[0]
    assert problem.field == "training.pass_mark"
    assert problem.message == "The pass mark is 3, and the number of training tasks is 2."


def test_training_again_needs_a_training(study):
    onboarding_settings.set_onboarding(study, actor=None, training={"required": False})
    with pytest.raises(Conflict) as refused:
        training.require_again(factories.rater(study), actor=None, reason="x")
    assert refused.value.code == "no_training"


def test_a_study_whose_training_is_switched_off_gives_tasks_at_once(me, study):
    onboarding_settings.set_onboarding(study, actor=None, training={"required": False})
    assert leases.lease_next(Rater.objects.get().user, "s")[1] is not None
