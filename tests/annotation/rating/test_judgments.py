"""Taking answers: what is stored, what is refused, what a replay gets."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import Answer, Assignment, Judgment, Rater, Task
from annotation.rating import judgments, leases
from annotation.studies import protocols
from tests import factories
from tests.annotation.importing.answers import comparison, rating
from tests.annotation.rating.conftest import lease

pytestmark = pytest.mark.django_db


def test_a_rating_is_stored_with_its_answer(orca):
    user, assignment = lease(orca)
    receipt = judgments.submit(user, assignment.id, rating(4, codes=["A"], comment=" quiet "))
    judgment = Judgment.objects.get()
    assert not receipt.replayed
    assert (judgment.codes, judgment.comment, judgment.revision, judgment.effective) == (
        ["A"],
        "quiet",
        1,
        True,
    )
    assert judgment.protocol_version == orca.protocol_version
    assert [answer.value for answer in judgment.answers.all()] == [4.0]


def test_it_moves_the_counters_of_task_assignment_and_rater(orca):
    for expected_filled in (0, 1):
        user, assignment = lease(orca)
        judgments.submit(user, assignment.id, rating(4))
        rater = Rater.objects.get(user=user)
        assert (rater.n_judgments, rater.n_tasks_filled) == (1, expected_filled)
    task = Task.objects.get()
    assert (task.n_judgments, task.n_leases, task.wants_more) == (2, 0, False)
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.SUBMITTED}


def test_sides_are_undone_so_that_swapped_raters_who_agree_agree(pairs):
    for _ in range(2):
        user, assignment = lease(pairs)
        side = "A" if assignment.presentation[0] == 1 else "B"  # the second candidate, wherever it is shown
        judgments.submit(user, assignment.id, comparison(alignment=side))
    stored = Answer.objects.filter(question__key="alignment")
    assert {answer.choice for answer in stored} == {Answer.Choice.SECOND}
    assert sorted(Judgment.objects.values_list("presentation", flat=True)) == [[0, 1], [1, 0]]


def test_twenty_replays_leave_one_judgment(orca):
    user, assignment = lease(orca)
    submission = rating(4)
    receipts = [judgments.submit(user, assignment.id, submission) for _ in range(20)]
    assert [receipt.replayed for receipt in receipts] == [False] + [True] * 19
    assert Judgment.objects.count() == 1
    assert Rater.objects.get(user=user).n_judgments == 1


def refusal(user, assignment, submission) -> str:
    with pytest.raises(Conflict) as caught:
        judgments.submit(user, assignment.id, submission)
    return caught.value.code


def test_another_answer_under_a_new_name_or_the_same_is_a_conflict(orca):
    user, assignment = lease(orca)
    name = uuid.uuid4()
    judgments.submit(user, assignment.id, rating(4, client_id=name))
    assert refusal(user, assignment, rating(2)) == "already_submitted"
    assert refusal(user, assignment, rating(5, client_id=name)) == "client_id_reused"
    assert Judgment.objects.count() == 1


@pytest.mark.parametrize("code", ["U", "E"])
def test_unable_to_judge_is_a_valid_answer_without_a_rating(orca, code):
    user, assignment = lease(orca)
    judgments.submit(user, assignment.id, rating(0, answers=[], codes=[code]))
    assert Judgment.objects.get().answers.count() == 0
    assert Task.objects.get().n_judgments == 1


@pytest.mark.parametrize(
    ("submission", "field"),
    [
        *((rating(0, answers=[], codes=[code]), "answers") for code in ("Q", "A", "R")),  # no excuse
        (rating(6), "answers[0].value"),
        (rating(4, telemetry={"log": "x" * 5000}), "telemetry"),
    ],
)
def test_a_refused_answer_changes_nothing(orca, submission, field):
    user, assignment = lease(orca)
    with pytest.raises(InvalidInput, match="not complete") as caught:
        judgments.submit(user, assignment.id, submission)
    assert [problem.field for problem in caught.value.problems] == [field]
    task = Task.objects.get()
    assert (Judgment.objects.count(), task.n_leases, task.n_judgments) == (0, 1, 0)
    assert Assignment.objects.get().state == Assignment.State.OPEN


def expire(user, assignment):
    Assignment.objects.filter(pk=assignment.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    leases.expire_due()


def give_back(user, assignment):
    leases.give_back(user, assignment.id)


ended = pytest.mark.parametrize("end", [expire, give_back])


@ended
def test_a_late_answer_counts_while_there_is_room(orca, end):
    user, assignment = lease(orca)
    end(user, assignment)
    submission = rating(4)
    receipt = judgments.submit(user, assignment.id, submission)
    task = Task.objects.get()
    assert (receipt.surplus, task.n_judgments, task.n_leases) == (False, 1, 0)
    assert Judgment.objects.get().effective
    assert Assignment.objects.get().state == Assignment.State.SUBMITTED
    assert judgments.submit(user, assignment.id, submission).replayed


@ended
def test_a_late_answer_gives_its_order_to_the_pair_again(pairs, end):
    user, assignment = lease(pairs)
    balance = Task.objects.get().order_balance
    end(user, assignment)
    judgments.submit(user, assignment.id, comparison())
    assert Task.objects.get().order_balance == balance


@ended
def test_a_late_answer_to_a_full_task_is_kept_as_surplus(orca, end):
    user, assignment = lease(orca)
    end(user, assignment)
    for _ in range(2):
        other, theirs = lease(orca)
        judgments.submit(other, theirs.id, rating(3))
    submission = rating(4)
    assert judgments.submit(user, assignment.id, submission).surplus
    assert judgments.submit(user, assignment.id, submission).replayed
    kept = Judgment.objects.get(rater__user=user)
    assert (kept.surplus, kept.effective, kept.answers.get().counted) == (True, False, False)
    assert Task.objects.get().n_judgments == 2
    assert Rater.objects.get(user=user).n_surplus == 1
    assert refusal(user, assignment, rating(2)) == "already_submitted"


@ended
def test_a_late_answer_to_a_task_met_again_is_surplus(orca, end):
    user, first = lease(orca)
    end(user, first)
    _, second = lease(orca, user)
    assert judgments.submit(user, first.id, rating(4)).surplus
    assert not judgments.submit(user, second.id, rating(5)).surplus
    task = Task.objects.get()
    assert (task.n_judgments, task.n_leases) == (1, 0)


def test_a_skipped_task_takes_no_answer(orca):
    user, assignment = lease(orca)
    leases.skip(user, assignment.id, reason="audio")
    assert refusal(user, assignment, rating(4)) == "skipped"


def test_an_answer_to_an_item_withdrawn_meanwhile_is_surplus(orca):
    user, assignment = lease(orca)
    Task.objects.update(state=Task.State.WITHDRAWN)
    assert judgments.submit(user, assignment.id, rating(4)).surplus
    task = Task.objects.get()
    assert (task.n_leases, task.n_judgments) == (0, 0)


def test_an_answer_is_read_by_the_protocol_it_was_asked_under(orca):
    user, assignment = lease(orca)
    before = orca.protocol_version
    protocols.add_protocol_version(orca, preset="cmi-pref", actor=None)
    judgments.submit(user, assignment.id, rating(4))
    assert Judgment.objects.get().protocol_version == before


def test_somebody_elses_assignment_is_not_there(orca):
    _, assignment = lease(orca)
    with pytest.raises(NotFound):
        judgments.submit(factories.member(orca), assignment.id, rating(4))
