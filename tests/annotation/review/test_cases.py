"""Claims of review cases: one expert each, for a time; assignment; what closes with its item."""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput, NotAllowed, NotFound
from annotation.items import versions
from annotation.models import (
    Assignment,
    AuditEvent,
    BarredRater,
    CaseEvent,
    CaseReason,
    Return,
    ReviewCase,
    System,
    Task,
)
from annotation.rating import judgments, leases, revisions
from annotation.review import cases, drafts, returns
from annotation.review.queue import QueueFilters
from tests import factories
from tests.annotation.importing import reviewing
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import judged, withdraw
from tests.annotation.importing.reviewing import case
from tests.annotation.review.conftest import code_of, kinds, run_out

pytestmark = pytest.mark.django_db
State = ReviewCase.State


@pytest.fixture
def other(study):
    return factories.member(study, "expert", name="Ben")


class TestClaiming:
    def test_a_claim_lasts_as_long_as_the_study_says_and_is_logged(self, study, task, expert):
        study.rules = {**study.rules, "review": {"claim_minutes": 5}}
        study.save()
        claimed = cases.claim(expert, case(task).pk)
        assert (claimed.state, claimed.claimed_by) == (State.CLAIMED, expert)
        assert 290 < (claimed.claim_expires_at - timezone.now()).total_seconds() <= 300
        assert kinds(claimed) == ["claimed"]
        assert AuditEvent.objects.filter(action="case.claimed", actor=expert).count() == 1

    def test_claiming_ones_own_renews_it_and_anothers_is_refused_with_their_name_until_it_runs_out(
        self, task, expert, other
    ):
        one = case(task)
        first = cases.claim(expert, one.pk).claim_expires_at
        assert cases.claim(expert, one.pk).claim_expires_at > first
        assert kinds(one) == ["claimed"]
        with pytest.raises(Conflict, match="Ada") as conflict:
            cases.claim(other, one.pk)
        assert conflict.value.code == "claimed_by_other"
        run_out(one)
        assert cases.claim(other, one.pk).claimed_by == other
        assert kinds(one) == ["claimed", "released", "claimed"]

    def test_a_resolved_case_cannot_be_claimed(self, study, task, expert):
        one = case(task, state=State.RESOLVED, decision="fine")
        assert code_of(cases.claim, expert, one.pk) == "resolved"

    def test_only_experts_of_the_study_may(self, study, task):
        one = case(task)
        with pytest.raises(NotAllowed):
            cases.claim(factories.member(study, "researcher"), one.pk)
        for stranger in (factories.member(study), factories.UserFactory()):
            with pytest.raises(NotFound):
                cases.claim(stranger, one.pk)

    def test_a_case_that_waits_for_raters_can_be_claimed_and_waits_again_when_put_back(
        self, study, task, expert
    ):
        one = case(task, state=State.RETURNED)
        Return.objects.create(case=one, task=task, n_wanted=1, created_by=expert)
        assert cases.claim(expert, one.pk).state == State.CLAIMED
        assert cases.put_back(expert, one.pk).state == State.RETURNED


class TestRatingBesideReviewing:
    def test_whoever_claims_is_barred_from_the_versions_tasks(self, study, task, expert):
        cases.claim(expert, case(task).pk)
        barred = BarredRater.objects.get(task=task)
        assert (barred.rater.user, barred.reason) == (expert, "reviews")

    def test_so_they_are_from_tasks_that_come_later_even_to_a_version_without_any(self, study, task, expert):
        version = task.item_version
        one = case(task)
        ReviewCase.objects.filter(pk=one.pk).update(task=None)
        Task.objects.filter(pk=task.pk).delete()
        cases.claim(expert, one.pk)
        for n in range(2):  # the second where a task is there already
            system = System.objects.create(study=study, name=f"late-{n}")
            versions.add_answer(version, system, "A horn.", provenance={})
        assert leases.lease_next(expert, study.slug)[1] is None
        assert leases.lease_next(factories.member(study), study.slug)[1] is not None

    def test_opening_the_case_again_bars_from_whatever_was_missed(self, study, task, expert):
        one = cases.claim(expert, case(task).pk)
        BarredRater.objects.update(reason="saw_earlier")
        cases.claim(expert, one.pk)
        assert BarredRater.objects.get(task=task).reason == "reviews"

    def test_their_open_lease_of_one_goes_back_and_an_answer_that_comes_after_is_surplus(
        self, study, task, expert
    ):
        _, lease = leases.lease_next(expert, study.slug)
        cases.claim(expert, case(task).pk)
        assert Assignment.objects.get(pk=lease.id).state == Assignment.State.RETURNED
        task.refresh_from_db()
        assert task.n_leases == 0
        assert judgments.submit(expert, lease.id, rating(3)).surplus

    def test_their_earlier_vote_cannot_be_changed_any_more(self, study, task, expert):
        _, lease = leases.lease_next(expert, study.slug)
        judgments.submit(expert, lease.id, rating(3))
        revisions.revise(expert, lease.id, rating(4))
        cases.claim(expert, case(task).pk)
        assert code_of(revisions.revise, expert, lease.id, rating(5)) == "reviews"


class TestHolding:
    def test_a_live_claim_is_held_and_kept(self, study, task, expert):
        one = case(task)
        until = cases.claim(expert, one.pk).claim_expires_at
        assert cases.claimed_case(expert, one.pk).pk == one.pk
        assert cases.renew_claim(expert, one.pk).claim_expires_at > until

    def test_each_way_to_lose_it_has_its_code(self, study, task, expert, other):
        one = case(task)
        assert code_of(cases.claimed_case, expert, one.pk) == "claim_lost"
        cases.claim(expert, one.pk)
        assert code_of(cases.claimed_case, other, one.pk) == "claimed_by_other"
        run_out(one)
        assert code_of(cases.renew_claim, expert, one.pk) == "claim_lost"
        ReviewCase.objects.filter(pk=one.pk).update(state=State.RESOLVED)
        assert code_of(cases.claimed_case, expert, one.pk) == "resolved"

    def test_putting_back_opens_it_once(self, study, task, expert, other):
        one = case(task)
        cases.claim(expert, one.pk)
        for _ in range(2):
            assert cases.put_back(expert, one.pk).state == State.OPEN
        assert kinds(one) == ["claimed", "released"]
        cases.claim(expert, one.pk)
        assert cases.put_back(other, one.pk).claimed_by == expert

    def test_claims_that_ran_out_are_put_back_by_nobody(self, study, expert):
        one, live = (case(factories.rating_task(study, name)) for name in "ab")
        for each in (one, live):
            cases.claim(expert, each.pk)
        run_out(one)
        assert (cases.expire_claims(), cases.expire_claims()) == (1, 0)
        one.refresh_from_db()
        assert (one.state, one.claimed_by) == (State.OPEN, None)
        assert CaseEvent.objects.get(case=one, kind="released").actor is None


class TestNext:
    def test_the_highest_priority_comes_first_and_the_experts_own_before_it(self, study, expert, other):
        low, high, own, others = (
            case(factories.rating_task(study, name), priority=priority, assigned_to=who)
            for name, priority, who in (
                ("low", 1.0, None), ("high", 2.0, None), ("own", 0.5, expert), ("others", 9.0, other)
            )
        )  # fmt: skip
        order = []
        while found := cases.claim_next(expert, study.slug, QueueFilters()):
            order.append(found)
            ReviewCase.objects.filter(pk=found.pk).update(state=State.RESOLVED)
        assert order == [own, high, low]
        assert cases.claim_next(other, study.slug, QueueFilters()) == others

    def test_filters_hold_and_a_claim_that_ran_out_is_open_again(self, study, task, expert, other):
        one = case(task, rules=("audit",))
        case(factories.rating_task(study, "b"), rules=("codes",), priority=5)
        cases.claim(other, one.pk)
        assert cases.claim_next(expert, study.slug, QueueFilters(rule="audit")) is None
        run_out(one)
        assert cases.claim_next(expert, study.slug, QueueFilters(rule="audit")) == one

    def test_what_one_has_claimed_comes_before_all_else_until_it_is_left(self, study, task, expert):
        at_work = cases.claim(expert, case(task).pk)
        high = case(factories.rating_task(study, "b"), priority=5)
        assert cases.claim_next(expert, study.slug, QueueFilters()) == at_work
        assert kinds(at_work) == ["claimed"]
        assert cases.claim_next(expert, study.slug, QueueFilters(), except_case=at_work.pk) == high

    def test_nobody_who_runs_the_study_is_given_one(self, study, task):
        case(task)
        with pytest.raises(NotAllowed):
            cases.claim_next(factories.member(study, "admin"), study.slug, QueueFilters())


class TestAssigning:
    def test_an_assigned_case_is_its_experts_alone(self, study, task, expert, other):
        one = case(task)
        researcher = factories.member(study, "researcher")
        assert cases.assign(researcher, study.slug, [one.pk], expert=expert.email) == 1
        assert code_of(cases.claim, other, one.pk) == "assigned_to_other"
        assert cases.claim(expert, one.pk).claimed_by == expert
        told = AuditEvent.objects.get(action="cases.assigned")
        assert (told.subject, told.data) == (f"user {expert.pk}", {"cases": [one.pk]})

    def test_giving_it_to_somebody_else_ends_the_claim(self, study, task, expert, other):
        one = case(task)
        researcher = factories.member(study, "researcher")
        cases.claim(expert, one.pk)
        cases.assign(researcher, study.slug, [one.pk], expert=other.email)
        assert code_of(cases.claimed_case, expert, one.pk) == "claim_lost"
        assert kinds(one) == ["claimed", "assigned", "released"]
        assert cases.assign(researcher, study.slug, [one.pk], expert=None) == 1
        assert cases.claim(expert, one.pk).claimed_by == expert

    def test_what_cannot_be_is_named_and_changes_nothing(self, study, task, expert):
        one = case(task)
        foreign = case(factories.rating_task(factories.StudyFactory(), "a"))
        researcher = factories.member(study, "researcher")
        for ids, to, field in (
            ([one.pk, foreign.pk], expert.email, "case_ids[1]"),
            ([one.pk], researcher.email, "expert"),
        ):
            with pytest.raises(InvalidInput) as error:
                cases.assign(researcher, study.slug, ids, expert=to)
            assert [problem.field for problem in error.value.problems] == [field]
        with pytest.raises(NotAllowed):
            cases.assign(expert, study.slug, [one.pk], expert=expert.email)
        one.refresh_from_db()
        assert one.assigned_to is None


class TestClosingWithTheItem:
    def test_nothing_waits_for_the_cases_of_a_withdrawn_item(self, study, task, expert):
        one = judged(expert, task)
        asked = [
            drafts.request_draft(one, field=name, writer="W", actor=expert)
            for name in ("question", "reference")
        ]
        drafts.store_proposal(asked[0].pk, text="A question.", provenance={})
        returns.return_to_pool(expert, one.pk, "More.")
        withdraw(one.item)
        assert set(one.drafts.values_list("state", flat=True)) == {"unused"}
        assert one.returns.get().state == "cancelled"
        assert not drafts.store_proposal(asked[1].pk, text="Late.", provenance={})

    def test_unresolved_cases_close_but_the_one_it_was_decided_in(self, study, task, expert):
        decided_in = case(task)
        later = task.item_version.item.versions.create(number=2, content_sha256="1" * 64)
        second = ReviewCase.objects.create(
            study=study, item=later.item, item_version=later, state=State.RETURNED
        )
        closed = returns.close_item_cases(
            later.item, decision="superseded", actor=expert, except_case=decided_in
        )
        assert closed == 1
        second.refresh_from_db()
        decided_in.refresh_from_db()
        assert (second.state, second.decision, second.decided_by) == (State.RESOLVED, "superseded", expert)
        assert decided_in.state == State.OPEN
        assert kinds(second) == ["decided"]


class TestOpening:
    def test_a_case_is_opened_and_given_further_reasons_each_once(self, study, task):
        version = task.item_version
        assert reviewing.open_case(version, rule="codes", evidence={"n": 1}, task=task, weight=0.5)
        assert not reviewing.open_case(version, rule="codes", evidence={"n": 2}, task=task, weight=0.5)
        assert reviewing.open_case(version, rule="audit", evidence={}, weight=0.25)
        one = ReviewCase.objects.get()
        assert (one.rules, one.priority, one.task) == (["codes", "audit"], 0.75, task)
        assert CaseReason.objects.get(rule="codes").evidence == {"n": 1}
        assert kinds(one) == ["opened", "fired"]

    def test_none_is_opened_for_a_version_that_is_not_current_or_an_item_withdrawn(self, study, task):
        gone = factories.rating_task(study, "b")
        item = task.item_version.item
        item.current_version = item.versions.create(number=2, content_sha256="1" * 64)
        item.save()
        gone.item_version.item.state = "withdrawn"
        gone.item_version.item.save()
        for version in (task.item_version, gone.item_version):
            assert not reviewing.open_case(version, rule="codes", evidence={})
        assert not ReviewCase.objects.exists()
