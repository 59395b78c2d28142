"""Changing a vote: what stands afterwards, what is kept, who may and until when."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from analytics.data import value_counts
from analytics.data.questions import measured_questions
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import Answer, Assignment, AuditEvent, Judgment, Rater, Study, Task
from annotation.rating import judgments, leases, revisions
from annotation.studies.protocols import add_protocol_version
from tests import factories
from tests.annotation.importing.answers import comparison, rating
from tests.annotation.rating.conftest import mark, vote
from tests.annotation.rating.rules import protocols

pytestmark = pytest.mark.django_db


def counters(study: Study) -> list[tuple[int, ...]]:
    tasks = study.tasks.order_by("pk").values_list("n_judgments", "n_leases", "overlap", "order_balance")
    raters = Rater.objects.filter(study=study).order_by("pk")
    return [*tasks, *raters.values_list("n_judgments", "n_surplus", "n_tasks_filled", "n_skips")]


def test_a_change_stands_in_the_place_of_the_first_vote_which_is_kept_and_is_logged(orca):
    user, lease = vote(orca)
    submission = rating(2, comment=" on second thoughts ")
    revisions.revise(user, lease.id, submission)
    event = AuditEvent.objects.get(action="judgment.revised")
    assert (event.actor, event.study, event.data["revision"]) == (user, orca, 2)
    assert event.subject == f"judgment {submission.client_id}"
    first, second = Judgment.objects.order_by("revision")
    assert [(j.revision, j.effective) for j in (first, second)] == [(1, False), (2, True)]
    assert (first.comment, first.codes) == ("quiet", ["A"])
    assert (second.comment, second.codes, second.excluded, second.surplus) == (
        "on second thoughts",
        [],
        False,
        False,
    )
    assert list(Answer.objects.order_by("pk").values_list("value", "counted")) == [(4, False), (2, True)]


def test_no_counter_moves(orca):
    user, lease = vote(orca)
    vote(orca)
    before = counters(orca)
    revisions.revise(user, lease.id, rating(2))
    assert counters(orca) == before


def test_the_order_that_was_shown_and_how_loud_is_kept_and_sides_are_undone():
    study = factories.StudyFactory(preset="cmi-pref")
    factories.comparison_task(study, "pair")
    user, lease = vote(study, comparison(alignment="A"))
    revisions.revise(user, lease.id, comparison(alignment="B"))
    first, second = Judgment.objects.order_by("revision")
    assert second.presentation == first.presentation == lease.presentation
    assert second.gains == first.gains
    assert second.answers.get(question__key="alignment").choice == lease.presentation[1] + 1


def test_figures_are_of_what_stands(orca):
    user, lease = vote(orca)
    vote(orca)
    revisions.revise(user, lease.id, rating(2))
    [question] = measured_questions(orca)
    assert value_counts.unit_counts(question).rows == [({1: 0, 2: 1, 3: 0, 4: 1, 5: 0}, 1)]
    [ratings] = value_counts.system_ratings(question)
    assert (ratings.n, ratings.total) == (2, 6)
    assert value_counts.code_counts(orca) == {"A": 1}


def test_a_change_can_be_changed_again(orca):
    user, lease = vote(orca)
    for value in (2, 5):
        revisions.revise(user, lease.id, rating(value))
    assert list(Judgment.objects.order_by("revision").values_list("revision", "effective")) == [
        (1, False),
        (2, False),
        (3, True),
    ]
    assert [answer.value for answer in Answer.objects.filter(counted=True)] == [5]


def test_twenty_replays_make_one_change_also_after_the_window_has_closed(orca, later):
    user, lease = vote(orca)
    submission = rating(2)
    receipts = [revisions.revise(user, lease.id, submission) for _ in range(20)]
    assert [receipt.replayed for receipt in receipts] == [False] + [True] * 19
    later(60)
    assert revisions.revise(user, lease.id, submission).replayed
    assert Judgment.objects.count() == 2


def test_a_client_id_cannot_be_used_for_another_answer(orca):
    user, lease = vote(orca)
    name = uuid.uuid4()
    revisions.revise(user, lease.id, rating(2, client_id=name))
    assert refusal(user, lease, rating(3, client_id=name)) == "client_id_reused"


def test_what_is_not_complete_is_refused_and_changes_nothing(orca):
    user, lease = vote(orca)
    with pytest.raises(InvalidInput):
        revisions.revise(user, lease.id, rating(6, codes=["Z"]))
    assert Judgment.objects.get().effective
    assert Answer.objects.get().counted


def test_the_database_still_refuses_to_change_what_was_said(orca):
    user, lease = vote(orca)
    revisions.revise(user, lease.id, rating(2))
    for rows, change in (
        (Answer.objects.filter(counted=False), {"value": 1}),
        (Judgment.objects, {"codes": ["Q"]}),
    ):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            rows.update(**change)


# ── Who may, and until when ──────────────────────────────────────────────────


@pytest.fixture
def later(monkeypatch):
    """`later(9)`: nine minutes pass."""
    real = timezone.now

    def pass_(minutes: float) -> None:
        monkeypatch.setattr(timezone, "now", lambda: real() + timedelta(minutes=minutes))

    return pass_


def refusal(user, lease, submission=None) -> str:
    before = list(Judgment.objects.order_by("pk").values_list("pk", "effective", "excluded"))
    with pytest.raises(Conflict) as caught:
        revisions.revise(user, lease.id, submission or rating(2))
    assert list(Judgment.objects.order_by("pk").values_list("pk", "effective", "excluded")) == before
    return caught.value.code


@pytest.mark.parametrize(
    ("rules", "minutes", "open_"),
    [
        ({}, 9, True),
        ({}, 11, False),
        ({"listening": {"change_minutes": 30}}, 29, True),
        ({"listening": {"change_minutes": 0}}, 0.01, False),
    ],
)
def test_the_study_says_for_how_long(orca, later, rules, minutes, open_):
    user, lease = vote(orca)
    Study.objects.update(rules=rules)
    later(minutes)
    if open_:
        assert not revisions.revise(user, lease.id, rating(2)).replayed
    else:
        assert refusal(user, lease) == "window_closed"


def test_a_change_does_not_open_the_window_again(orca, later):
    user, lease = vote(orca)
    later(9)
    revisions.revise(user, lease.id, rating(2))
    later(11)
    assert refusal(user, lease, rating(3)) == "window_closed"


@pytest.mark.parametrize("what", ["excluded", "withdrawn"])
def test_a_vote_that_is_out_stays_as_it_is_and_its_rater_is_not_told_why(orca, what):
    user, lease = vote(orca)
    if what == "excluded":
        mark(orca, "exclude", *Judgment.objects.all())
    else:
        Task.objects.update(state=Task.State.WITHDRAWN)
    assert refusal(user, lease) == "not_changeable"


def test_a_surplus_vote_is_changed_like_any_other_and_stays_surplus(orca):
    user = factories.member(orca)
    _, lease = leases.lease_next(user, orca.slug)
    leases.release([lease.id], state=Assignment.State.EXPIRED)
    for _ in range(2):
        vote(orca)
    assert judgments.submit(user, lease.id, rating(4)).surplus
    revisions.revise(user, lease.id, rating(2))
    revisions.revise(user, lease.id, rating(5))
    own = Judgment.objects.filter(rater__user=user).order_by("revision")
    assert [(row.revision, row.effective, row.surplus) for row in own] == [
        (n, False, True) for n in (1, 2, 3)
    ]
    assert (Task.objects.get().n_judgments, Answer.objects.filter(counted=True).count()) == (2, 2)


def test_what_was_not_answered_cannot_be_changed(orca):
    user = factories.member(orca)
    _, lease = leases.lease_next(user, orca.slug)
    assert refusal(user, lease) == "not_changeable"
    with pytest.raises(NotFound):
        revisions.own_judgment(user, lease.id)


def test_nobody_else_finds_anything_to_change(orca):
    _, lease = vote(orca)
    for other in (factories.member(orca), factories.member(orca, "researcher"), factories.UserFactory()):
        for attempt in (
            lambda who=other: revisions.revise(who, lease.id, rating(2)),
            lambda who=other: given(who, lease),
        ):
            with pytest.raises(NotFound):
                attempt()


# ── Exclusions ───────────────────────────────────────────────────────────────


def test_a_vote_excluded_by_the_name_of_an_earlier_revision_is_out_altogether(orca):
    user, lease = vote(orca)
    named = Judgment.objects.get()
    revisions.revise(user, lease.id, rating(2))
    mark(orca, "exclude", named)
    assert set(Judgment.objects.values_list("excluded", flat=True)) == {True}
    assert not Answer.objects.filter(counted=True).exists()
    assert Task.objects.get().n_judgments == 0
    assert Rater.objects.get().n_judgments == 0


def test_a_vote_restored_counts_as_it_was_last(orca):
    user, lease = vote(orca)
    revisions.revise(user, lease.id, rating(2))
    for action in ("exclude", "restore"):
        mark(orca, action, *Judgment.objects.filter(rater__user=user))
    assert [answer.value for answer in Answer.objects.filter(counted=True)] == [2]
    assert Task.objects.get().n_judgments == 1


# ── Showing a vote to whoever gave it ────────────────────────────────────────


def given(user, lease) -> revisions.OwnJudgment:
    return revisions.own_judgment(user, lease.id)


@pytest.mark.parametrize("turn", range(2))
def test_a_comparison_is_shown_as_it_was_given_whichever_way_round(turn):
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    factories.comparison_task(study, "pair")
    for _ in range(turn):
        vote(study, comparison())
    submission = comparison(alignment="B", musicality="A")
    user, lease = vote(study, submission)
    shown = given(user, lease)
    assert shown.answers == list(submission.answers)
    assert (shown.client_id, shown.revision) == (submission.client_id, 1)


def test_answers_about_each_candidate_return_to_the_position_they_were_given_at():
    # Three in turn are drawn a different order each, so at least two are not shown the panel as it is listed.
    study = factories.StudyFactory(preset="orca", overlap=3)
    definition = protocols.definition(
        protocols.question(per_candidate=True), layout="panel", candidate="text", candidates=[2, 8]
    )
    add_protocol_version(study, definition=definition, actor=None)
    factories.panel_task(study, "bell", ["one", "two", "three"])
    answers = [{"question": "quality", "position": n, "value": float(n + 1)} for n in range(3)]
    orders = set()
    for _ in range(3):
        user, lease = vote(study, rating(0, answers=answers))
        orders.add(tuple(lease.presentation))
        assert given(user, lease).answers == answers
    assert len(orders) == 3


def test_an_abx_answer_is_shown_for_the_side_it_named():
    study = factories.StudyFactory(preset="abx", overlap=8)
    factories.comparison_task(study, "pair")
    for choice in ("A", "B") * 2:
        answers = [{"question": "x", "choice": choice}]
        user, lease = vote(study, rating(0, answers=answers))
        assert given(user, lease).answers == answers


def test_after_a_change_the_change_is_shown(orca):
    user, lease = vote(orca)
    revisions.revise(user, lease.id, rating(2, codes=["Q"], comment="so"))
    shown = given(user, lease)
    assert (shown.revision, shown.codes, shown.comment) == (2, ["Q"], "so")
    assert shown.answers == [{"question": "correctness", "value": 2.0}]
    assert shown.changeable_until - shown.submitted_at < timedelta(minutes=10)
