"""Keeping judgments out of analysis and taking them back in: marks, counters, places."""

from __future__ import annotations

import uuid

import pytest

from annotation.errors import InvalidInput
from annotation.models import Answer, Assignment, AuditEvent, Exclusion, Judgment, Rater, Study, Task, User
from annotation.rating import exclusions, judgments, leases
from tests import factories
from tests.annotation.importing.answers import comparison, rating
from tests.annotation.rating.conftest import mark

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(orca: Study) -> Study:
    return orca


def rate(study: Study, user: User | None = None, value: float = 4) -> Judgment:
    user = user or factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, rating(value))
    return Judgment.objects.get(assignment_id=lease.id)


def counters(task: Task | None = None) -> tuple[int, int, int, bool]:
    task = task or Task.objects.get()
    task.refresh_from_db()
    return task.n_judgments, task.n_leases, task.overlap, task.wants_more


def test_an_excluded_judgment_is_marked_and_logged_and_says_what_it_said(study):
    judgment = rate(study)
    mark(study, "exclude", judgment)
    judgment.refresh_from_db()
    answer = judgment.answers.get()
    assert (judgment.excluded, judgment.effective, answer.counted, answer.value) == (True, True, False, 4.0)
    row = Exclusion.objects.get()
    assert (row.judgment, row.action, row.reason) == (judgment, "exclude", "careless")
    event = AuditEvent.objects.get(action="judgments.excluded")
    assert (event.study, event.data["changed"], event.data["reason"]) == (study, 1, "careless")


def test_its_place_opens_to_another_rater_and_not_to_the_same_one(study):
    user = factories.member(study)
    first = rate(study, user)
    rate(study)
    assert counters() == (2, 0, 2, False)
    mark(study, "exclude", first)
    assert counters() == (1, 0, 2, True)
    assert leases.lease_next(user, study.slug)[1] is None
    assert leases.lease_next(factories.member(study), study.slug)[1] is not None


@pytest.mark.parametrize("taken", ["judged", "leased"])
def test_overlap_grows_for_a_restored_judgment_whose_place_was_taken(study, taken):
    first = rate(study)
    rate(study)
    mark(study, "exclude", first)
    if taken == "judged":
        rate(study)
    else:
        leases.lease_next(factories.member(study), study.slug)
    outcome = mark(study, "restore", first)
    assert (outcome.changed, outcome.overlap_grown) == (1, 1)
    assert counters() == ((3, 0, 3, False) if taken == "judged" else (2, 1, 3, False))
    assert AuditEvent.objects.get(action="judgments.restored").data["overlap_grown"] == 1


def test_counters_of_raters_follow_and_their_sum_stays_the_number_of_full_tasks(study):
    first, second = rate(study), rate(study)
    assert filled() == 1
    mark(study, "exclude", first)
    assert Rater.objects.get(pk=first.rater_id).n_judgments == 0
    assert Rater.objects.get(pk=second.rater_id).n_judgments == 1
    assert filled() == 0
    mark(study, "restore", first)
    assert Rater.objects.get(pk=first.rater_id).n_judgments == 1
    assert filled() == 1


def filled() -> int:
    return sum(Rater.objects.values_list("n_tasks_filled", flat=True))


def test_marking_twice_changes_nothing_the_second_time_and_a_restored_judgment_counts_again(study):
    judgment = rate(study)
    assert mark(study, "exclude", judgment) == exclusions.ExclusionOutcome(1, 0, 0)
    assert mark(study, "exclude", judgment) == exclusions.ExclusionOutcome(0, 1, 0)
    assert counters() == (0, 0, 2, True)
    mark(study, "restore", judgment)
    judgment.refresh_from_db()
    assert (judgment.excluded, judgment.answers.get().counted) == (False, True)
    assert counters() == (1, 0, 2, True)
    assert list(Exclusion.objects.order_by("id").values_list("action", flat=True)) == ["exclude", "restore"]


def test_a_surplus_judgment_moves_no_counter(study):
    user, others = factories.member(study), [factories.member(study) for _ in range(2)]
    _, late = leases.lease_next(user, study.slug)
    leases.release([late.id], state=Assignment.State.EXPIRED)
    for other in others:
        rate(study, other)
    judgments.submit(user, late.id, rating(1))
    surplus = Judgment.objects.get(surplus=True)
    for action in ("exclude", "restore"):
        mark(study, action, surplus)
        assert counters() == (2, 0, 2, False)
        assert Answer.objects.get(judgment=surplus).counted is False
        assert Rater.objects.get(pk=surplus.rater_id).n_judgments == 0


def test_an_excluded_pair_gives_its_order_back_and_takes_it_again():
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    task = factories.comparison_task(study, "pair")
    user = factories.member(study)
    _, lease = leases.lease_next(user, study.slug)
    judgments.submit(user, lease.id, comparison())
    task.refresh_from_db()
    before = task.order_balance
    assert abs(before) == 1
    for action, expected in (("exclude", 0), ("restore", before)):
        mark(study, action, Judgment.objects.get())
        task.refresh_from_db()
        assert task.order_balance == expected


def test_judgments_of_unnamed_raters_move_the_studys_own_counters(study):
    task = Task.objects.get()
    for _ in range(2):
        Judgment.objects.create(
            study=study, task=task, protocol_version=study.protocol_version, payload_sha256=b"", origin=2
        )
    Task.objects.update(n_judgments=2)
    Study.objects.update(n_unnamed_judgments=2, n_unnamed_tasks_filled=1)
    mark(study, "exclude", *Judgment.objects.all())
    study.refresh_from_db()
    assert (study.n_unnamed_judgments, study.n_unnamed_tasks_filled) == (0, 0)
    assert counters() == (0, 0, 2, True)


def test_all_judgments_of_a_rater_go_together():
    study = factories.StudyFactory(overlap=1)
    for n in range(3):
        factories.rating_task(study, f"task-{n}")
    user = factories.member(study)
    for _ in range(3):
        rate(study, user)
    rater = Rater.objects.get(user=user)
    outcome = exclusions.exclude_or_restore(
        Judgment.objects.filter(rater=rater), study=study, action="exclude", reason="bot", actor=None
    )
    assert outcome.changed == 3
    rater.refresh_from_db()
    assert (rater.n_judgments, rater.n_tasks_filled) == (0, 0)
    assert Task.objects.filter(wants_more=True).count() == 3


def test_names_that_are_not_there_or_of_another_study_are_pointed_at(study):
    judgment, other = rate(study), factories.StudyFactory()
    for where, names, field in (
        (study, [judgment.client_id, uuid.uuid4()], "client_ids[1]"),
        (other, [judgment.client_id], "client_ids[0]"),
    ):
        with pytest.raises(InvalidInput) as caught:
            exclusions.judgments_by_client_id(where, names)
        assert [problem.field for problem in caught.value.problems] == [field]
    assert mark(other, "exclude", judgment).changed == 0
    judgment.refresh_from_db()
    assert not judgment.excluded
