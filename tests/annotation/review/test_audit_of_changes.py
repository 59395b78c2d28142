"""What changes by itself, or many at once, is in the study's log: once, and not where nothing changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.listening import checks
from annotation.models import AuditEvent, Rater, ReviewCase, Study, WebhookDelivery
from annotation.rating import leases
from annotation.review import adjudication, cases, drafts, returns
from annotation.studies import members
from annotation.webhooks import delivery as webhooks_delivery
from annotation.webhooks import events, webhooks
from tests import factories
from tests.annotation.importing.desk import judged
from tests.annotation.importing.reviewing import case

pytestmark = pytest.mark.django_db


def logged(study: Study, *nouns: str) -> list[tuple[str, dict[str, Any]]]:
    events = AuditEvent.objects.filter(study=study).order_by("pk").values_list("action", "data")
    return [(action, data) for action, data in events if action.partition(".")[0] in nouns]


def run_out() -> None:
    ReviewCase.objects.update(claim_expires_at=timezone.now() - timedelta(seconds=1))


def test_claims_that_run_out_are_one_event_for_each_study(study, expert):
    elsewhere = factories.StudyFactory()
    their_expert = factories.member(elsewhere, "expert")
    own = [case(factories.rating_task(study, name)).pk for name in "ab"]
    theirs = case(factories.rating_task(elsewhere, "c")).pk
    for who, pk in ((expert, own[0]), (expert, own[1]), (their_expert, theirs)):
        cases.claim(who, pk)
    cases.expire_claims()
    assert logged(study, "cases") == []
    run_out()
    cases.expire_claims()
    cases.expire_claims()
    [(action, data)] = logged(study, "cases")
    assert (action, sorted(data["cases"])) == ("cases.expired", own)
    assert logged(elsewhere, "cases") == [("cases.expired", {"cases": [theirs]})]


def test_a_claim_that_ran_out_and_is_taken_before_any_sweep_is_told_too(study, expert):
    one = case(factories.rating_task(study, "a"))
    cases.claim(expert, one.pk)
    run_out()
    cases.claim(factories.member(study, "expert"), one.pk)
    assert [action for action, _ in logged(study, "case", "cases")] == [
        "case.claimed", "cases.expired", "case.claimed",
    ]  # fmt: skip


def test_cases_of_an_expert_who_leaves_are_told(study, expert):
    one = case(factories.rating_task(study, "a"))
    cases.claim(expert, one.pk)
    idle = factories.member(study, "expert")
    admin = factories.member(study, "admin")
    for who in (idle, expert):
        members.remove_member(study.memberships.get(user=who), actor=admin)
    assert logged(study, "cases") == [("cases.let_go", {"cases": [one.pk]})]
    assert AuditEvent.objects.get(action="cases.let_go").subject == f"user {expert.pk}"


def test_cases_that_close_with_their_item_are_told(study, expert):
    item = factories.rating_task(study, "a").item_version.item
    returns.close_item_cases(item, decision="withdrawn", actor=expert)
    assert logged(study, "cases") == []
    one = case(factories.rating_task(study, "b"))
    returns.close_item_cases(one.item, decision="withdrawn", actor=expert)
    assert logged(study, "cases") == [("cases.closed", {"cases": [one.pk], "decision": "withdrawn"})]


def test_a_case_that_comes_back_and_what_was_asked_for_are_told(study, expert):
    task = factories.rating_task(study, "a")
    one = judged(expert, task)
    returns.return_to_pool(expert, one.pk, "More.", votes=1)
    returns.close_fulfilled()
    assert logged(study, "returns") == []
    task.refresh_from_db()
    type(task).objects.filter(pk=task.pk).update(n_judgments=task.overlap)
    assert returns.close_fulfilled() == 1
    assert logged(study, "returns") == [("returns.closed", {"judged": 1, "cancelled": 0})]
    assert [action for action, _ in logged(study, "case")][-1] == "case.came_back"


def test_a_decision_tells_what_is_not_awaited_any_more(study, expert):
    one = judged(expert, factories.rating_task(study, "a"))
    returns.return_to_pool(expert, one.pk, "More.", votes=1)
    cases.claim(expert, one.pk)
    adjudication.approve_item(expert, one.pk)
    assert logged(study, "returns") == [("returns.closed", {"judged": 0, "cancelled": 1})]
    assert "case.came_back" not in dict(logged(study, "case"))


class TestChecks:
    @pytest.fixture
    def rater(self, study) -> Rater:
        checks.set_check_rules(study, actor=None, require=["antiphase"])
        return factories.rater(study)

    def take(self, rater: Rater, *, right: bool) -> None:
        check = checks.start_check(rater.user, rater.study.slug, kind="antiphase")
        for number, trial in enumerate(check.trials):
            choice = trial["key"] if right else (trial["key"] + 1) % 3
            checks.answer_trial(rater.user, check.pk, trial=number, choice=choice)

    def test_one_that_is_over_is_told_under_the_pseudonym_and_gives_no_answer_away(self, study, rater):
        for right in (False, True):
            self.take(rater, right=right)
        assert logged(study, "check") == [
            ("check.finished", {"kind": "antiphase", "state": state}) for state in ("failed", "passed")
        ]
        subjects = AuditEvent.objects.filter(action="check.finished").values_list("subject", "actor")
        assert set(subjects) == {(rater.pseudonym, None)}

    def test_nothing_is_kept_of_it_for_a_webhook_once_the_rater_has_withdrawn(self, study, rater, settings):
        settings.OUTBOUND_ALLOW = ["127.0.0.1"]
        webhook = webhooks.add(study, address="http://127.0.0.1/", actor=factories.member(study, "admin"))[0]
        self.take(rater, right=True)
        events.collect_events(webhook, deadline=float("inf"))
        Rater.objects.filter(pk=rater.pk).update(state=Rater.State.WITHDRAWN)
        webhooks_delivery.drop_deliveries_of_withdrawn()
        delivery = WebhookDelivery.objects.get(event="check.finished")
        assert (delivery.state, delivery.body) == ("dropped", "")


def test_drafts_are_told_from_being_asked_for_to_what_came_of_it(study, expert):
    one = case(factories.rating_task(study, "a"))
    asked = [
        drafts.request_draft(one, field=name, writer="W", actor=expert) for name in ("question", "reference")
    ]
    drafts.request_draft(one, field="question", writer="W", actor=expert)  # waits already
    drafts.store_proposal(asked[0].pk, text="A question.", provenance={})
    drafts.store_failure(asked[1].pk, problem="http://host/?key=secret said no.")
    drafts.store_failure(asked[1].pk, problem="Again.")
    assert [action for action, _ in logged(study, "draft")] == [
        "draft.requested", "draft.requested", "draft.proposed", "draft.failed",
    ]  # fmt: skip
    last = dict(logged(study, "draft"))["draft.failed"]
    assert last == {"case": one.pk, "field": "reference", "writer": "W"}


def test_leases_are_not_told(study):
    factories.rating_task(study, "a")
    rater = factories.member(study)
    before = AuditEvent.objects.count()
    assignment = leases.lease_next(rater, study.slug)[1]
    leases.give_back(rater, assignment.id)
    assert AuditEvent.objects.count() == before
