"""An expert's own judgment: first, blind, kept, and counted nowhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput, NotAllowed, NotFound
from annotation.models import Assignment, CaseEvent, Exclusion, Judgment, Rater, ReviewCase, Task
from annotation.rating import exclusions, judgments, leases, revisions
from annotation.review import blind_judgments, cases
from tests import factories
from tests.annotation.importing.answers import comparison, rating
from tests.annotation.importing.desk import claimed, give, judged, true_counters
from tests.annotation.review.conftest import code_of, run_out

pytestmark = pytest.mark.django_db


def counters(study, task):
    fields = ("n_judgments", "n_leases", "n_draws", "order_balance", "overlap")
    raters = ("n_judgments", "n_surplus", "n_tasks_filled", "last_judgment_at", "cursor")
    return (
        Task.objects.filter(pk=task.pk).values_list(*fields).get(),
        list(Rater.objects.filter(study=study).order_by("pk").values_list(*raters)),
    )


def test_a_judgment_is_kept_as_the_experts_own_and_moves_no_counter(study, task, expert):
    give(factories.member(study), task)
    before = counters(study, task)
    one = judged(expert, task)
    assert counters(study, task) == before
    kept = one.blind_judgment
    assert (kept.origin, kept.effective, kept.rater.user) == (Judgment.Origin.EXPERT, True, expert)
    assert [(answer.value, answer.counted) for answer in kept.answers.all()] == [(4, False)]
    assert kept.assignment.state == Assignment.State.REVIEWED
    true_counters(study)


def test_the_sides_of_a_pair_are_drawn_for_the_expert_and_answers_kept_by_slot(study, expert):
    study = factories.StudyFactory(preset="cmi-pref")
    pair, orders = factories.comparison_task(study, "pair"), set()
    for _ in range(12):
        user = factories.member(study, "expert")
        one = judged(user, pair)
        kept = one.blind_judgment
        orders.add(tuple(kept.presentation))
        alignment = kept.answers.get(question__key="alignment")
        assert alignment.choice == kept.presentation[0] + 1
        ReviewCase.objects.filter(pk=one.pk).update(state="resolved")
    assert orders == {(0, 1), (1, 0)}
    pair.refresh_from_db()
    assert (pair.n_draws, pair.order_balance) == (0, 0)


def test_beginning_again_gives_the_same_assignment_and_a_case_without_task_none(study, task, expert):
    one = claimed(expert, task)
    assert blind_judgments.begin_blind(expert, one.pk).pk == blind_judgments.begin_blind(expert, one.pk).pk
    assert not blind_judgments.has_judged_blind(one, expert)
    ReviewCase.objects.filter(pk=one.pk).update(task=None)
    one.refresh_from_db()
    assert blind_judgments.begin_blind(expert, one.pk) is None
    assert blind_judgments.has_judged_blind(one, expert)


def test_the_briefing_is_a_raters_and_needs_a_beginning(task, expert):
    one = claimed(expert, task)
    assert code_of(blind_judgments.blind_briefing, expert, one.pk) == "not_begun"
    blind_judgments.begin_blind(expert, one.pk)
    brief = blind_judgments.blind_briefing(expert, one.pk)
    assert set(brief) == {"id", "protocol_version", "expires_at", "content", "candidates", "listening"}
    assert "system" not in str(brief["content"])


def test_a_replay_gets_the_first_receipt_also_without_the_claim_and_another_answer_a_conflict(task, expert):
    one, said = claimed(expert, task), rating(2)
    blind_judgments.begin_blind(expert, one.pk)
    assert not blind_judgments.judge_blind(expert, one.pk, said).replayed
    cases.put_back(expert, one.pk)
    assert blind_judgments.judge_blind(expert, one.pk, said).replayed
    assert (
        code_of(blind_judgments.judge_blind, expert, one.pk, rating(5, client_id=said.client_id))
        == "client_id_reused"
    )
    cases.claim(expert, one.pk)
    assert code_of(blind_judgments.judge_blind, expert, one.pk, rating(5)) == "already_submitted"
    assert Judgment.objects.filter(task=task).count() == 1


def test_only_who_holds_the_case_judges_it(study, task, expert):
    one = claimed(expert, task)
    blind_judgments.begin_blind(expert, one.pk)
    assert (
        code_of(blind_judgments.judge_blind, factories.member(study, "expert"), one.pk, rating(2))
        == "claimed_by_other"
    )
    with pytest.raises(NotFound):
        blind_judgments.judge_blind(factories.member(study), one.pk, rating(2))
    with pytest.raises(NotAllowed):
        blind_judgments.judge_blind(factories.member(study, "researcher"), one.pk, rating(2))
    run_out(one)
    assert code_of(blind_judgments.judge_blind, expert, one.pk, rating(2)) == "claim_lost"
    assert not Judgment.objects.filter(task=task).exists()


def test_an_expert_answers_whole_and_hears_what_raters_must(task, expert):
    one = claimed(expert, task)
    blind_judgments.begin_blind(expert, one.pk)
    with pytest.raises(InvalidInput):
        blind_judgments.judge_blind(expert, one.pk, rating(9))
    study = factories.StudyFactory(preset="cmi-pref", rules={})
    pair, other = factories.comparison_task(study, "pair"), factories.member(study, "expert")
    two = claimed(other, pair)
    blind_judgments.begin_blind(other, two.pk)
    with pytest.raises(InvalidInput) as refused:
        blind_judgments.judge_blind(other, two.pk, comparison())
    assert refused.value.code == "unheard"


def test_a_rater_who_becomes_expert_is_asked_still_and_it_is_written_down(study, task, expert):
    give(expert, task)
    one = judged(expert, task)
    event = CaseEvent.objects.get(case=one, kind="judged")
    assert event.data["rated_before"] is True
    assert Judgment.objects.filter(task=task, rater__user=expert).count() == 2


def test_a_second_case_of_the_task_takes_the_earlier_judgment_and_another_expert_gives_their_own(
    study, task, expert
):
    first = judged(expert, task)
    ReviewCase.objects.filter(pk=first.pk).update(state="resolved")
    again = claimed(expert, task)
    assert blind_judgments.begin_blind(expert, again.pk).state == Assignment.State.REVIEWED
    again.refresh_from_db()
    assert again.blind_judgment == first.blind_judgment
    cases.put_back(expert, again.pk)
    other = factories.member(study, "expert")
    cases.claim(other, again.pk)
    assert not blind_judgments.has_judged_blind(again, other)
    blind_judgments.begin_blind(other, again.pk)
    blind_judgments.judge_blind(other, again.pk, rating(1))
    again.refresh_from_db()
    assert again.blind_judgment.rater.user == other


@pytest.mark.parametrize("done", [False, True])
def test_raters_ways_do_not_reach_a_review(study, task, expert, done):
    one = judged(expert, task) if done else claimed(expert, task)
    review = blind_judgments.begin_blind(expert, one.pk)
    for way in (judgments.submit, revisions.revise):
        with pytest.raises(NotFound):
            way(expert, review.pk, rating(1))
    with pytest.raises(NotFound):
        revisions.own_judgment(expert, review.pk)
    with pytest.raises(Conflict):
        leases.extend(expert, review.pk)
    with pytest.raises(Conflict):
        leases.skip(expert, review.pk, reason="audio")
    leases.give_back(expert, review.pk)
    Assignment.objects.filter(pk=review.pk).update(expires_at=timezone.now() - timedelta(days=1))
    assert leases.expire_due() == 0
    review.refresh_from_db()
    assert review.state == (Assignment.State.REVIEWED if done else Assignment.State.REVIEWING)


def test_excluding_and_restoring_an_experts_judgment_moves_nothing(study, task, expert):
    give(factories.member(study), task)
    kept = judged(expert, task).blind_judgment
    before = counters(study, task)
    mine = Judgment.objects.filter(pk=kept.pk)
    for action in (Exclusion.Action.EXCLUDE, Exclusion.Action.RESTORE):
        exclusions.exclude_or_restore(mine, study=study, action=action, reason="test", actor=None)
        assert counters(study, task) == before
        assert not kept.answers.filter(counted=True).exists()
