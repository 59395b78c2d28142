"""A decision taken back: everything is as before, and nothing is erased."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from annotation import access, hooks
from annotation.errors import NotAllowed
from annotation.items import versions
from annotation.models import (
    CaseEvent,
    Correction,
    Draft,
    Exclusion,
    Judgment,
    Return,
    ReviewCase,
    Study,
    System,
    Task,
)
from annotation.rating import exclusions, judgments, leases
from annotation.review import adjudication, cases, drafts, returns
from tests import factories
from tests.annotation.importing import reviewing
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, give, judged, leased, true_counters
from tests.annotation.review.conftest import code_of

pytestmark = pytest.mark.django_db
READY, WITHDRAWN = Task.State.READY, Task.State.WITHDRAWN


def is_over(user, case) -> bool:
    return code_of(adjudication.undo_decision, user, case.pk) == "undo_over"


def corrected(expert, task, *, voted: bool = False, **wanted) -> ReviewCase:
    """A case decided by a correction, of a task that a rater had judged where it was `voted` on."""
    if voted:
        give(factories.member(task.study), task)
    one = judged(expert, task)
    adjudication.correct_item(expert, one.pk, corrections(one, **wanted))
    return ReviewCase.objects.get(pk=one.pk)


def state_of(study):
    tasks = Task.objects.filter(study=study, item_version__retracted=False).exclude(state=WITHDRAWN)
    return (
        list(tasks.order_by("pk").values_list("pk", "item_version__number", "n_judgments", "overlap")),
        sorted(Judgment.objects.filter(excluded=False, surplus=False).values_list("pk", flat=True)),
    )


def test_a_correction_taken_back_leaves_everything_as_it_was(study, task, expert):
    fresh = factories.rating_task(study, "other")
    give(factories.member(study), task)
    one = judged(expert, task)
    before = state_of(study)
    version = adjudication.correct_item(expert, one.pk, corrections(one))
    assert adjudication.undo_deadline(ReviewCase.objects.get(pk=one.pk)) is not None
    back = adjudication.undo_decision(expert, one.pk)
    assert (back.state, back.decision, back.claimed_by) == ("claimed", "", expert)
    assert state_of(study) == before
    version.refresh_from_db()
    item = task.item_version.item
    item.refresh_from_db()
    assert (version.retracted, item.current_version) == (True, task.item_version)
    assert Correction.objects.get().version_after == version
    assert CaseEvent.objects.filter(case=one, kind="undone", data__decision="corrected").exists()
    assert [mark.action for mark in Exclusion.objects.order_by("pk")] == ["exclude", "restore"]
    assert fresh.item_version.item.versions.count() == 1
    true_counters(study)


def test_what_was_said_of_the_retracted_version_leaves_the_count(study, task, expert):
    one = corrected(expert, task, voted=True)
    new = Task.objects.get(replaces=task)
    said = give(factories.member(study), new)
    lease = leased(late := factories.member(study), new)
    adjudication.undo_decision(expert, one.pk)
    new.refresh_from_db()
    assert (new.state, new.n_judgments, new.n_leases) == (WITHDRAWN, 0, 0)
    assert [mark.reason for mark in said.exclusions.all()] == ["correction_undone"]
    assert judgments.submit(late, lease.pk, rating(1)).surplus
    true_counters(study)


def test_tasks_that_moved_move_back_or_are_replaced_once_they_were_met(study, task, expert):
    give(factories.member(study), task)
    names = ("met", "fresh")
    for name in names:
        other = Task.objects.create(
            study=study, item_version=task.item_version, external_id=name, overlap=2, shuffle_key=0.5
        )
        other.slots.create(slot=0, candidate=task.slots.get().candidate)
    study.n_tasks = 3
    study.save(update_fields=["n_tasks"])
    one = corrected(expert, task)
    give(factories.member(study), Task.objects.get(external_id="met"))
    adjudication.undo_decision(expert, one.pk)
    fresh, met = Task.objects.get(external_id="fresh"), Task.objects.get(external_id="met")
    assert (fresh.item_version, fresh.state) == (task.item_version, READY)
    assert fresh.slots.get().candidate == task.slots.get().candidate
    again = Task.objects.get(replaces=met)
    assert (met.state, again.item_version, again.external_id) == (WITHDRAWN, task.item_version, "met~v1")
    true_counters(study)


def test_it_can_be_corrected_again_and_taken_back_again(study, task, expert):
    one = corrected(expert, task, voted=True)
    adjudication.undo_decision(expert, one.pk)
    adjudication.correct_item(expert, one.pk, corrections(one, texts={"question": "What else rings?"}))
    new = Task.objects.get(replaces=task, state=READY)
    assert (new.external_id, new.item_version.number) == ("a~v3", 3)
    adjudication.undo_decision(expert, one.pk)
    task.refresh_from_db()
    assert (task.state, task.n_judgments) == (READY, 1)
    true_counters(study)


def marked(study, judgment, action: str) -> exclusions.ExclusionOutcome:
    chosen = Judgment.objects.filter(pk=judgment.pk)
    return exclusions.exclude_or_restore(chosen, study=study, action=action, reason="careless", actor=None)


def test_what_somebody_excluded_while_it_was_set_aside_stays_out(study, task, expert):
    said = give(factories.member(study), task)
    one = corrected(expert, task)
    assert marked(study, said, "exclude") == exclusions.ExclusionOutcome(1, 0, 0)
    assert marked(study, said, "exclude") == exclusions.ExclusionOutcome(0, 1, 0)
    adjudication.undo_decision(expert, one.pk)
    said.refresh_from_db()
    assert said.excluded
    true_counters(study)
    assert marked(study, said, "restore") == exclusions.ExclusionOutcome(1, 0, 0)
    said.refresh_from_db()
    assert not said.excluded
    assert [mark.reason for mark in said.exclusions.order_by("pk")][1:] == ["careless", "careless"]
    true_counters(study)


@pytest.mark.parametrize("first", [True, False], ids=["excluded before", "excluded after"])
@pytest.mark.parametrize("decision", ["corrected", "withdrawn"])
def test_nobody_restores_what_the_review_keeps_out_but_undoing_does(study, task, expert, decision, first):
    said = give(factories.member(study), task)
    if first:
        marked(study, said, "exclude")
    one = judged(expert, task)
    if decision == "corrected":
        adjudication.correct_item(expert, one.pk, corrections(one))
    else:
        adjudication.withdraw_case_item(expert, one.pk, comment="Silent.")
    if not first:
        marked(study, said, "exclude")
    for _ in range(2):
        assert marked(study, said, "restore") == exclusions.ExclusionOutcome(0, 1, 0, kept_out=1)
    said.refresh_from_db()
    last = said.exclusions.order_by("pk").last()
    assert (said.excluded, last.action, last.reason) == (True, "exclude", f"item_{decision}")
    true_counters(study)
    adjudication.undo_decision(expert, one.pk)
    said.refresh_from_db()
    assert not said.excluded
    true_counters(study)


def test_what_was_said_of_a_retracted_version_is_not_restored(study, task, expert):
    one = corrected(expert, task, voted=True)
    said = give(factories.member(study), Task.objects.get(replaces=task))
    adjudication.undo_decision(expert, one.pk)
    marked(study, said, "exclude")
    assert marked(study, said, "restore").kept_out == 1
    assert said.exclusions.order_by("pk").last().reason == "correction_undone"
    true_counters(study)


def test_answers_written_for_the_retracted_version_go_with_it(study, task, expert):
    one = corrected(expert, task, voted=True, rewrite_answers=True)
    version = task.item_version.item.versions.get(number=2)
    system = System.objects.get(name="system-1")
    assert versions.lacks_answers(version) is False  # no writer here: its answers were carried over
    written = versions.add_answer(version, system, "A new answer.", provenance={"model": "m"})
    assert Task.objects.filter(slots__candidate=written).exists()
    adjudication.undo_decision(expert, one.pk)
    live = Task.objects.filter(study=study).exclude(state=WITHDRAWN)
    assert list(live) == [task]
    true_counters(study)


def added(version, name: str, *shown) -> Task:
    """A task that an import, or a writer, brought to this version."""
    task = Task.objects.create(
        study=version.item.study, item_version=version, external_id=name, overlap=2, shuffle_key=0.5
    )
    for slot, candidate in enumerate(shown):
        task.slots.create(slot=slot, candidate=candidate)
    Study.objects.filter(pk=task.study_id).update(n_tasks=F("n_tasks") + 1)
    return task


def test_tasks_that_share_an_imported_answer_share_its_one_copy_on_the_version_before():
    study = factories.StudyFactory(preset="cmi-pref", overlap=2)
    task, expert = factories.comparison_task(study, "a"), factories.member(study, "expert")
    one = judged(expert, task)
    version = adjudication.correct_item(expert, one.pk, corrections(one, texts={"prompt": "Better"}))
    first, second = version.candidates.order_by("pk")
    third = System.objects.create(study=study, name="system-3")
    new = version.candidates.create(system=third, clip=factories.clip("a-3"))
    written = version.candidates.create(system=third, take=2, provenance={"model": "m"})
    only_there = version.candidates.create(system=third, take=3, clip=factories.clip("a-4"))
    brought = [added(version, "a-c", first, new), added(version, "b-c", second, new)]
    gone = added(version, "c-d", only_there, written)
    adjudication.undo_decision(expert, one.pk)
    copy = task.item_version.candidates.get(system=third)
    assert (copy.clip, copy.carried_from) == (new.clip, new)
    for moved, origin in zip(brought, task.slots.order_by("slot"), strict=True):
        moved.refresh_from_db()
        shown = [slot.candidate for slot in moved.slots.order_by("slot")]
        assert (moved.item_version, shown) == (task.item_version, [origin.candidate, copy])
    gone.refresh_from_db()
    assert gone.state == WITHDRAWN
    true_counters(study)


def test_an_imported_answer_becomes_the_one_that_was_there_or_its_systems_next_take(
    study, task, expert, monkeypatch
):
    monkeypatch.setattr(hooks, "run_after_correction", lambda *args, **named: None)  # no answers yet
    old = task.slots.get().candidate
    version = corrected(expert, task, rewrite_answers=True).item.current_version
    tasks = [
        added(version, str(take), version.candidates.create(system=old.system, take=take, text=text))
        for take, text in ((1, "A new answer."), (2, old.text))
    ]
    adjudication.undo_decision(expert, ReviewCase.objects.get().pk)
    different, same = (one.slots.get().candidate for one in tasks)
    assert (different.item_version, different.take, different.text) == (old.item_version, 2, "A new answer.")
    assert same == old
    true_counters(study)


def test_what_waited_for_the_retracted_version_waits_no_more(study, task, expert):
    give(factories.member(study), task)
    added(task.item_version, "fresh", task.slots.get().candidate)
    one, other = corrected(expert, task), factories.member(study, "expert")
    two = judged(other, Task.objects.get(replaces=task))
    drafts.request_draft(two, field="reference", writer="W", actor=None)
    returns.return_to_pool(other, two.pk, "About the new wording.", votes=5)
    adjudication.undo_decision(expert, one.pk)
    moved = Task.objects.get(external_id="fresh")
    assert (moved.item_version, moved.overlap) == (task.item_version, 2)
    assert set(Return.objects.values_list("state", flat=True)) == {"cancelled"}
    assert Draft.objects.get().state == "unused"
    true_counters(study)


def test_drafts_are_proposed_again_but_for_those_rejected(task, expert):
    one = judged(expert, task)
    named = {}
    for field in ("question", "rationale", "reference"):
        named[field] = drafts.request_draft(one, field=field, writer="W", actor=None).pk
        drafts.store_proposal(named[field], text=f"A {field}.", provenance={})
    drafts.reject_draft(expert, named["reference"])
    texts = {"question": "A question."}
    began = {"question": named["question"]}
    adjudication.correct_item(expert, one.pk, corrections(one, texts=texts, drafts=began))
    adjudication.undo_decision(expert, one.pk)
    states = dict(Draft.objects.values_list("field", "state"))
    assert states == {"question": "proposed", "rationale": "proposed", "reference": "rejected"}


def test_fine_and_withdrawn_are_taken_back_too(study, task, expert):
    said = give(factories.member(study), task)
    one = judged(expert, task)
    adjudication.approve_item(expert, one.pk)
    assert adjudication.undo_decision(expert, one.pk).state == "claimed"
    adjudication.withdraw_case_item(expert, one.pk, comment="Silent.")
    adjudication.undo_decision(expert, one.pk)
    task.refresh_from_db()
    said.refresh_from_db()
    assert (task.state, task.n_judgments, said.excluded) == (READY, 1, False)
    assert task.item_version.item.state == "active"
    true_counters(study)


def test_the_window_ends_and_a_study_may_have_none(study, task, expert):
    one = corrected(expert, task)
    ReviewCase.objects.filter(pk=one.pk).update(resolved_at=timezone.now() - timedelta(minutes=11))
    one.refresh_from_db()
    assert adjudication.undo_deadline(one) is None
    assert is_over(expert, one)
    study.rules = {**study.rules, "review": {"undo_minutes": 0}}
    study.save(update_fields=["rules"])
    ReviewCase.objects.filter(pk=one.pk).update(resolved_at=timezone.now())
    assert is_over(expert, one)


def test_only_who_decided_takes_back_what_is_decided_until_a_rule_flags_the_item_anew(study, task, expert):
    one = judged(expert, task)
    assert is_over(expert, one)
    adjudication.approve_item(expert, one.pk)
    with pytest.raises(NotAllowed):
        adjudication.undo_decision(factories.member(study, "expert"), one.pk)
    reviewing.case(task)
    assert adjudication.undo_deadline(ReviewCase.objects.get(pk=one.pk)) is None
    assert is_over(expert, one)


def test_only_the_last_decision_about_an_item_is_taken_back(study, task, expert):
    one = corrected(expert, task)
    new, other = Task.objects.get(replaces=task), factories.member(study, "expert")
    two = judged(other, new)
    adjudication.approve_item(other, two.pk)
    assert is_over(expert, one)
    adjudication.undo_decision(other, two.pk)
    assert cases.put_back(other, two.pk).state == "open"
    adjudication.undo_decision(expert, one.pk)
    two.refresh_from_db()
    assert (two.state, two.decision) == ("resolved", "superseded")


def test_who_met_the_version_again_is_no_more_barred_than_before(study, task, expert):
    user = factories.member(study)
    leases.give_back(user, leased(user, task).pk)
    one = corrected(expert, task)
    assert leases.lease_next(user, study.slug)[1] is None
    adjudication.undo_decision(expert, one.pk)
    assert leases.lease_next(user, study.slug)[1].task_id == task.pk


def test_whoever_reviewed_the_retracted_version_learns_and_judges_nothing_of_the_one_before(
    study, task, expert
):
    one, other = corrected(expert, task, voted=True), factories.member(study, "expert")
    item = task.item_version.item
    judged(other, Task.objects.get(replaces=task))
    assert access.item_in_review_queue(other, study.slug, item.pk).votes_up_to == 2
    adjudication.undo_decision(expert, one.pk)
    adjudication.approve_item(expert, one.pk)
    assert access.item_in_review_queue(other, study.slug, item.pk).votes_up_to == 0
    assert access.item_in_review_queue(expert, study.slug, item.pk).votes_up_to == 1
    assert leases.lease_next(other, study.slug)[1] is None


def test_who_met_the_retracted_version_does_not_meet_the_next(study, task, expert):
    one, user = corrected(expert, task, voted=True), factories.member(study)
    other = factories.member(study, "expert")
    give(user, new := Task.objects.get(replaces=task))
    two = judged(other, new)
    adjudication.correct_item(other, two.pk, corrections(two, texts={"question": "Which rings?"}))
    give(late := factories.member(study), Task.objects.get(replaces=new))
    adjudication.undo_decision(other, two.pk)
    cases.put_back(other, two.pk)
    adjudication.undo_decision(expert, one.pk)
    adjudication.correct_item(expert, one.pk, corrections(one, texts={"question": "What else rings?"}))
    bars = Task.objects.get(replaces=task, state=READY).barred.values_list("rater__user", "reason")
    found = {expert.pk: "reviews", other.pk: "reviews", user.pk: "saw_earlier", late.pk: "saw_earlier"}
    assert found.items() <= dict(bars).items()
    assert leases.lease_next(late, study.slug)[1] is None
