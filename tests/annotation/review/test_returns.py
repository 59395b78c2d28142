"""Asking raters again: what they hear, what they may do, and when the case comes back."""

from __future__ import annotations

import uuid

import pytest

from annotation.errors import Conflict, NotFound
from annotation.models import Membership, Rater, Return, ReviewCase, Task
from annotation.rating import briefings, judgments, leases, revisions
from annotation.review import adjudication, blind_judgments, cases, returns
from tests import factories
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import claimed, corrections, give, judged, leased, people, true_counters
from tests.annotation.importing.reviewing import vote
from tests.annotation.review.conftest import code_of, kinds, problems_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Votes cannot be changed there, but for those that are returned."""
    rules = {
        **factories.NOTHING_TO_HEAR,
        "listening": {**factories.NOTHING_TO_HEAR["listening"], "change_minutes": 0},
    }
    return factories.StudyFactory(overlap=2, rules=rules)


@pytest.fixture
def said(user, task):
    return give(user, task)


def fresh(case: ReviewCase) -> ReviewCase:
    return ReviewCase.objects.get(pk=case.pk)


class TestToARater:
    def test_their_vote_can_be_changed_whatever_the_window_and_the_case_comes_back(
        self, study, task, expert, user, said
    ):
        with pytest.raises(Conflict):
            revisions.revise(user, said.assignment_id, rating(5))
        one = judged(expert, task)
        [asked] = returns.return_to_rater(expert, one.pk, [said.client_id], "Listen to the end.")
        assert (fresh(one).state, fresh(one).n_returns, fresh(one).claimed_by) == ("returned", 1, None)
        [waiting] = returns.waiting_returns(user, study.slug)
        assert (waiting.assignment_id, waiting.comment) == (said.assignment_id, "Listen to the end.")
        assert revisions.own_judgment(user, said.assignment_id).changeable_until is None
        change = rating(5)
        revisions.revise(user, said.assignment_id, change)
        asked.refresh_from_db()
        assert (asked.state, fresh(one).state) == ("changed", "open")
        assert kinds(one)[-2:] == ["returned", "came_back"]
        assert revisions.revise(user, said.assignment_id, change).replayed
        assert code_of(revisions.revise, user, said.assignment_id, rating(1)) == "window_closed"
        true_counters(study)

    def test_they_may_stay_with_it_and_say_why_once(self, study, task, expert, user, said):
        one = judged(expert, task)
        [asked] = returns.return_to_rater(expert, one.pk, [said.client_id], "Sure?")
        with pytest.raises(NotFound):
            returns.keep_judgment(factories.member(study), asked.pk)
        returns.keep_judgment(user, asked.pk, " I am. ")
        asked.refresh_from_db()
        assert (asked.state, asked.reply, fresh(one).state) == ("kept", "I am.", "open")
        assert code_of(returns.keep_judgment, user, asked.pk) == "closed"
        assert returns.waiting_returns(user, study.slug) == []

    def test_the_case_waits_for_all_and_every_return_counts(self, study, task, expert, user, said):
        other = factories.member(study)
        second = give(other, task)
        one = judged(expert, task)
        asked = [said.client_id, second.client_id]
        first, last = returns.return_to_rater(expert, one.pk, asked, "Look again.")
        returns.keep_judgment(user, first.pk)
        assert fresh(one).state == "returned"
        returns.keep_judgment(other, last.pk)
        assert fresh(one).state == "open"
        cases.claim(expert, one.pk)
        returns.return_to_rater(expert, one.pk, [said.client_id], "And again.")
        assert fresh(one).n_returns == 2

    def test_who_cannot_be_asked_is_named_with_the_reason_and_nothing_is_returned(
        self, study, task, expert, user, said
    ):
        imported = vote(Task.objects.get(pk=task.pk), 2.0)
        left = give(leaver := factories.member(study), task)
        Membership.objects.filter(user=leaver).delete()
        one = judged(expert, task)
        own = one.blind_judgment.client_id
        names = [said.client_id, uuid.uuid4(), imported.client_id, left.client_id, own]
        found = problems_of(returns.return_to_rater, expert, one.pk, names, "Look.")
        assert list(found) == ["judgments[1]", "judgments[2]", "judgments[3]", "judgments[4]"]
        assert "imported" in found["judgments[2]"]
        assert list(problems_of(returns.return_to_rater, expert, one.pk, [], "Look.")) == ["judgments"]
        assert "comment" in problems_of(returns.return_to_rater, expert, one.pk, [said.client_id], " ")
        assert not Return.objects.exists()
        assert fresh(one).state == "claimed"

    def test_an_expert_who_reviews_the_item_is_not_asked_not_even_by_themself(self, task, expert, said):
        own = give(expert, task)
        one = judged(expert, task)
        found = problems_of(returns.return_to_rater, expert, one.pk, [said.client_id, own.client_id], "Look.")
        assert list(found) == ["judgments[1]"]
        assert "reviews this item" in found["judgments[1]"]

    def test_whoever_takes_the_case_that_waits_for_them_changes_no_vote_any_more(self, study, task, expert):
        other = factories.member(study, "expert")
        theirs = give(other, task)
        one = judged(expert, task)
        returns.return_to_rater(expert, one.pk, [theirs.client_id], "Look again.")
        cases.claim(other, one.pk)
        blind_judgments.begin_blind(other, one.pk)
        blind_judgments.judge_blind(other, one.pk, rating(2))
        assert code_of(revisions.revise, other, theirs.assignment_id, rating(5)) == "reviews"
        assert theirs.answers.get().counted

    def test_a_judgment_is_returned_once_at_a_time(self, task, expert, said):
        one = judged(expert, task)
        returns.return_to_rater(expert, one.pk, [said.client_id], "Look.")
        cases.claim(expert, one.pk)
        found = problems_of(returns.return_to_rater, expert, one.pk, [said.client_id], "Again.")
        assert list(found) == ["judgments[0]"]

    def test_nobody_returns_what_they_have_not_judged(self, task, expert, said):
        one = claimed(expert, task)
        assert code_of(returns.return_to_rater, expert, one.pk, [said.client_id], "Look.") == "not_judged"

    def test_a_decision_ends_the_waiting_and_a_rater_who_leaves_too(self, study, task, expert, user, said):
        one = judged(expert, task)
        [asked] = returns.return_to_rater(expert, one.pk, [said.client_id], "Look.")
        assert returns.close_fulfilled() == 0
        Rater.objects.filter(user=user).update(state="paused")
        assert returns.close_fulfilled(one) == 1
        asked.refresh_from_db()
        assert (asked.state, fresh(one).state) == ("cancelled", "open")
        Rater.objects.filter(user=user).update(state="active")
        cases.claim(expert, one.pk)
        [asked] = returns.return_to_rater(expert, one.pk, [said.client_id], "Look.")
        cases.claim(expert, one.pk)
        adjudication.correct_item(expert, one.pk, corrections(one))
        asked.refresh_from_db()
        assert asked.state == "cancelled"
        with pytest.raises(Conflict):
            revisions.revise(user, said.assignment_id, rating(5))


class TestToThePool:
    def test_tasks_take_more_judgments_and_the_case_comes_back_with_them(self, study, task, expert):
        for user in people(study, 2):
            give(user, task)
        one = judged(expert, task)
        [asked] = returns.return_to_pool(expert, one.pk, "Mind the second voice.", votes=2)
        task.refresh_from_db()
        assert (task.overlap, asked.n_wanted, fresh(one).state) == (4, 2, "returned")
        true_counters(study)
        give(factories.member(study), task)
        assert returns.close_fulfilled() == 0
        give(factories.member(study), task)
        assert returns.close_fulfilled() == 1
        asked.refresh_from_db()
        assert (asked.state, fresh(one).state) == ("judged", "open")
        true_counters(study)

    def test_the_study_says_how_many_and_an_expert_within_bounds(self, study, task, expert):
        study.rules = {**study.rules, "review": {"pool_votes": 3}}
        study.save(update_fields=["rules"])
        one = judged(expert, task)
        assert list(problems_of(returns.return_to_pool, expert, one.pk, "More.", votes=21)) == ["votes"]
        returns.return_to_pool(expert, one.pk, "More.")
        task.refresh_from_db()
        assert task.overlap == 5

    def test_whoever_judges_next_reads_the_comment_but_no_expert_before_their_own(self, study, task, expert):
        user, other = factories.member(study), factories.member(study, "expert")
        before = give(other, task)
        lease = leased(user, task)
        one = judged(expert, task)
        returns.return_to_pool(expert, one.pk, "Mind the second voice.")
        assert briefings.brief(lease)["note"] == "Mind the second voice."
        cases.claim(other, one.pk)
        blind_judgments.begin_blind(other, one.pk)
        assert "note" not in blind_judgments.blind_briefing(other, one.pk)
        assert "note" not in briefings.brief(before.assignment)  # their vote, fetched again
        judgments.submit(user, lease.pk, rating(3))
        give(factories.member(study), task)
        returns.close_fulfilled()
        assert "note" not in briefings.brief(lease)

    def test_unnamed_raters_full_tasks_open_again_too(self, study, task, expert):
        for _ in range(2):
            vote(task, 3.0)
        Task.objects.filter(pk=task.pk).update(n_judgments=2)
        study.n_unnamed_tasks_filled, study.n_unnamed_judgments = 1, 2
        study.save(update_fields=["n_unnamed_tasks_filled", "n_unnamed_judgments"])
        one = judged(expert, task)
        returns.return_to_pool(expert, one.pk, "More.")
        true_counters(study)
        assert leases.lease_next(factories.member(study), study.slug)[1] is not None

    def test_a_case_that_is_settled_first_gives_the_places_back(self, study, task, expert):
        for user in people(study, 2):
            give(user, task)
        one = judged(expert, task)
        returns.return_to_pool(expert, one.pk, "More.", votes=20)
        lease = leased(factories.member(study), task)
        cases.claim(expert, one.pk)
        adjudication.approve_item(expert, one.pk)
        task.refresh_from_db()
        assert (task.overlap, task.wants_more, Return.objects.get().state) == (3, False, "cancelled")
        true_counters(study)
        leases.give_back(lease.rater.user, lease.pk)
        give(factories.member(study), task)
        true_counters(study)

    def test_a_task_that_is_full_without_the_return_is_counted_so(self, study, task, expert):
        for user in people(study, 2):
            give(user, task)
        one = judged(expert, task)
        for votes in (4, 3):  # asked twice, taken back at once
            returns.return_to_pool(expert, one.pk, "More.", votes=votes)
            cases.claim(expert, one.pk)
        true_counters(study)
        adjudication.approve_item(expert, one.pk)
        task.refresh_from_db()
        assert task.overlap == 2
        true_counters(study)

    def test_the_task_of_the_corrected_version_wants_no_more_than_before(self, study, task, expert):
        for user in people(study, 2):
            give(user, task)
        one = judged(expert, task)
        returns.return_to_pool(expert, one.pk, "More.", votes=20)
        cases.claim(expert, one.pk)
        adjudication.correct_item(expert, one.pk, corrections(one))
        assert Task.objects.get(replaces=task).overlap == 2
        true_counters(study)
