"""Pairs get more votes while they are undecided, and no more than they need."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.errors import InvalidInput
from annotation.models import Answer, AuditEvent, Judgment, StoppingSweep, Task
from annotation.rating import exclusions, judgments, leases, revisions, stopping
from annotation.rating.rules import stopping as rules
from annotation.rating.rules.answers import FIRST, SECOND
from annotation.rating.stopping import OverlapChange
from annotation.review import adjudication, cases, returns
from annotation.studies import protocols
from tests import factories
from tests.annotation.importing import desk, reviewing
from tests.annotation.importing.answers import comparison
from tests.annotation.importing.desk import true_counters

pytestmark = pytest.mark.django_db

RULE = {"question": "alignment", "threshold": 0.9, "most": 7}


@pytest.fixture
def study():
    held = {**factories.NOTHING_TO_HEAR, "stopping": RULE}
    return factories.StudyFactory(preset="cmi-pref", overlap=3, rules=held)


@pytest.fixture
def task(study):
    return factories.comparison_task(study, "pair")


def prefer(choice: int, shown: list[int]) -> judgments.Submission:
    """A submission that prefers the candidate of this choice, on whichever side it was shown."""
    return comparison("A" if shown[0] == choice - 1 else "B")


def vote(task: Task, *choices: int) -> list[Judgment]:
    """One vote each by a rater of their own."""
    return [_vote(task, choice) for choice in choices]


def _vote(task: Task, choice: int) -> Judgment:
    user = factories.member(task.study)
    lease = desk.leased(user, task)
    judgments.submit(user, lease.pk, prefer(choice, lease.presentation))
    return Judgment.objects.get(assignment_id=lease.pk)


def places(task: Task) -> tuple[int, int, int]:
    return Task.objects.values_list("n_judgments", "overlap", "overlap_added").get(pk=task.pk)


def exclude(*rows: Judgment, action: str = "exclude") -> None:
    chosen = Judgment.objects.filter(pk__in=[row.pk for row in rows])
    exclusions.exclude_or_restore(chosen, study=rows[0].study, action=action, reason="careless", actor=None)


def test_a_pair_that_is_decided_stays_and_one_that_is_not_gets_one_more_place(study, task):
    other = factories.comparison_task(study, "other")
    vote(task, FIRST, FIRST, FIRST)
    vote(other, FIRST, SECOND, FIRST)
    assert stopping.sweep() == OverlapChange(more=1)
    assert places(task) == (3, 3, 0)
    assert places(other) == (3, 4, 1)
    assert stopping.sweep() == OverlapChange()
    logged = AuditEvent.objects.filter(study=study, action="stopping.applied")
    assert [event.data for event in logged] == [{"tasks": 1, "more": 1, "fewer": 0}]
    true_counters(study)


@pytest.mark.parametrize(
    ("choices", "expected"),
    [((FIRST,) * 3, (6, 6, 3)), ((SECOND, FIRST, SECOND, FIRST), (7, 7, 4))],
    ids=["until it is decided, five to one", "undecided to the most votes there may be"],
)
def test_it_goes_on_vote_by_vote(study, task, choices, expected):
    vote(task, FIRST, SECOND, FIRST)
    for choice in choices:
        assert stopping.sweep() == OverlapChange(more=1)
        vote(task, choice)
    assert stopping.sweep() == OverlapChange()
    assert places(task) == expected
    true_counters(study)


def test_ties_and_both_bad_are_half_a_vote_for_each(study, task):
    reviewing.votes(task, Answer.Choice.FIRST, Answer.Choice.FIRST, Answer.Choice.FIRST, Answer.Choice.TIE)
    Task.objects.filter(pk=task.pk).update(n_judgments=4, overlap=4)
    assert rules.majority_certainty(3, 0, 1) > 0.9
    assert stopping.sweep() == OverlapChange()
    reviewing.vote(task, Answer.Choice.BOTH_BAD)
    reviewing.vote(task, Answer.Choice.TIE)
    Task.objects.filter(pk=task.pk).update(n_judgments=6, overlap=6)
    assert rules.majority_certainty(3, 0, 3) < 0.9
    assert stopping.sweep() == OverlapChange(more=1)


def test_nothing_is_asked_before_the_first_votes_are_in(study, task):
    vote(task, FIRST, SECOND)
    assert stopping.sweep() == OverlapChange()
    assert places(task) == (2, 3, 0)


def test_a_changed_vote_that_decides_takes_the_open_place_away(study, task):
    user = factories.member(study)
    lease = desk.leased(user, task)
    judgments.submit(user, lease.pk, prefer(SECOND, lease.presentation))
    vote(task, FIRST, FIRST)
    stopping.sweep()
    assert places(task) == (3, 4, 1)
    revisions.revise(user, lease.pk, prefer(FIRST, lease.presentation))
    assert stopping.sweep() == OverlapChange(fewer=1)
    assert places(task) == (3, 3, 0)
    true_counters(study)


def test_a_place_that_somebody_is_at_is_not_taken_away(study, task):
    *_, against = vote(task, FIRST, FIRST, SECOND)
    stopping.sweep()
    vote(task, FIRST)
    stopping.sweep()
    user = factories.member(study)
    desk.leased(user, task)
    exclude(against)  # three to none, one place open and one taken
    assert stopping.sweep() == OverlapChange(fewer=1)
    assert places(task) == (3, 4, 1)
    leases.return_all(user.raters.all())
    stopping.reset_sweep(study)
    assert stopping.sweep() == OverlapChange(fewer=1)
    true_counters(study)


def test_an_excluded_vote_opens_its_place_and_a_restored_one_is_decided_anew(study, task):
    *_, last = vote(task, FIRST, FIRST, FIRST)
    stopping.sweep()
    exclude(last)
    assert stopping.sweep() == OverlapChange()
    assert places(task) == (2, 3, 0)
    vote(task, SECOND)
    assert stopping.sweep() == OverlapChange(more=1)
    exclude(last, action="restore")
    assert places(task) == (4, 4, 1)
    assert stopping.sweep() == OverlapChange(more=1)  # three to one
    true_counters(study)


@pytest.fixture
def expert(study):
    return factories.member(study, "expert")


def ask_pool(expert, task: Task, *, votes: int) -> int:
    case = desk.judged(expert, task)
    returns.return_to_pool(expert, case.pk, "More ears, please.", votes=votes)
    return case.pk


def test_what_an_expert_asks_of_the_pool_comes_beside_it(study, task, expert):
    vote(task, FIRST, SECOND, FIRST)
    stopping.sweep()
    ask_pool(expert, task, votes=2)
    assert places(task) == (3, 6, 1)
    vote(task, FIRST, FIRST, FIRST)
    assert stopping.sweep() == OverlapChange()  # five to one
    assert returns.close_fulfilled() == 1
    true_counters(study)


def test_what_an_expert_does_not_ask_any_more_leaves_it_to_the_rule(study, task, expert):
    vote(task, FIRST, SECOND, FIRST)
    case_id = ask_pool(expert, task, votes=2)
    assert stopping.sweep() == OverlapChange()
    cases.claim(expert, case_id)
    adjudication.approve_item(expert, case_id)
    assert places(task) == (3, 3, 0)
    assert stopping.sweep() == OverlapChange(more=1)


def test_what_an_expert_asks_of_the_pool_stays_after_votes_that_the_rule_had_asked_for(study, task, expert):
    vote(task, FIRST, SECOND, FIRST)
    for choice in (SECOND, FIRST, SECOND, FIRST):
        stopping.sweep()
        vote(task, choice)
    ask_pool(expert, task, votes=2)
    assert stopping.sweep() == OverlapChange()
    assert places(task) == (7, 9, 4)
    assert returns.close_fulfilled() == 0
    vote(task, FIRST, FIRST)
    assert returns.close_fulfilled() == 1
    true_counters(study)


def test_a_case_comes_back_with_the_votes_that_were_asked_for_before_the_rule_asks_for_more(
    study, task, expert
):
    vote(task, FIRST, SECOND, FIRST)
    ask_pool(expert, task, votes=1)
    vote(task, SECOND)
    assert stopping.sweep() == OverlapChange()
    assert returns.close_fulfilled() == 1
    assert stopping.sweep() == OverlapChange(more=1)
    assert places(task) == (4, 5, 1)


def test_that_a_rule_asked_for_a_vote_is_remembered_and_by_which(study, task):
    vote(task, FIRST, FIRST, FIRST)
    stopping.sweep()
    study.refresh_from_db()
    assert rules.first_votes(study.rules, overlap=3) is None
    vote(factories.comparison_task(study, "other"), FIRST, SECOND, FIRST)
    stopping.sweep()
    study = stopping.set_stopping_rule(study, actor=None, question="")
    assert rules.first_votes(study.rules, overlap=3) == 3
    assert rules.adaptive_rule(study.rules) == rules.Stopping(**RULE)


def test_imported_votes_count_and_experts_own_do_not(study, task):
    reviewing.votes(task, 1, 1, 2)
    reviewing.vote(task, 1, origin=Judgment.Origin.EXPERT)
    Task.objects.filter(pk=task.pk).update(n_judgments=3)
    study.n_unnamed_tasks_filled = 1
    study.save()
    assert stopping.sweep() == OverlapChange(more=1)
    study.refresh_from_db()
    assert study.n_unnamed_tasks_filled == 0


def test_only_running_studies_with_a_rule_and_regular_tasks_are_looked_at(study, task):
    vote(task, FIRST, SECOND, FIRST)
    study.state = "paused"
    study.save()
    assert stopping.sweep() == OverlapChange()
    study.state, study.rules = "running", factories.NOTHING_TO_HEAR
    study.save()
    assert stopping.sweep() == OverlapChange()
    study.rules = {**study.rules, "stopping": RULE}
    study.save()
    Task.objects.update(kind=Task.Kind.GOLD)
    assert stopping.sweep() == OverlapChange()
    Task.objects.update(kind=Task.Kind.REGULAR)
    stopping.reset_sweep(study)
    assert stopping.sweep() == OverlapChange(more=1)


def test_a_protocol_that_asks_the_question_no_more_asks_for_no_votes(study, task):
    vote(task, FIRST, SECOND, FIRST)
    protocols.add_protocol_version(study, preset="music-arena", actor=None)
    study.refresh_from_db()
    assert "alignment" not in rules.eligible_questions(
        protocols.load_protocol(study.protocol_version_id).spec
    )
    assert stopping.sweep() == OverlapChange()


class TestSettings:
    def test_a_rule_is_set_logged_and_holds_for_the_votes_there_are(self, study, task):
        study.rules = factories.NOTHING_TO_HEAR
        study.save()
        vote(task, FIRST, SECOND, FIRST)
        researcher = factories.member(study, "researcher")
        changed = stopping.set_stopping_rule(study, actor=researcher, question="alignment", most=5)
        assert rules.settings(changed.rules) == rules.Stopping("alignment", most=5, threshold=0.9)
        event = AuditEvent.objects.filter(action="study.changed", actor=researcher).latest("pk")
        assert event.data["stopping"]["most"] == [None, 5]
        assert stopping.sweep() == OverlapChange(more=1)

    def test_another_threshold_looks_at_everything_again(self, study, task):
        vote(task, FIRST, SECOND, FIRST)
        stopping.sweep()
        StoppingSweep.objects.filter(study=study).update(seen={"judgments": 10**9})
        stopping.set_stopping_rule(study, actor=None, threshold=0.6)
        assert stopping.sweep() == OverlapChange(fewer=1)

    @pytest.mark.parametrize("state", ["running", "paused"])
    def test_switched_off_open_places_go_and_numbers_are_remembered(self, study, task, state):
        vote(task, FIRST, SECOND, FIRST)
        stopping.sweep()
        study.refresh_from_db()
        study.state = state
        study.save()
        changed = stopping.set_stopping_rule(study, actor=None, question="")
        assert rules.settings(changed.rules) is None
        assert rules.as_json(changed.rules) == {"question": "", "threshold": 0.9, "most": 7}
        assert stopping.sweep() == OverlapChange(fewer=1)
        assert places(task) == (3, 3, 0)

    def test_a_rule_that_cannot_be_used_changes_nothing(self, study):
        with pytest.raises(InvalidInput) as refused:
            stopping.set_stopping_rule(study, actor=None, question="audio", most=3)
        assert {problem.field for problem in refused.value.problems} == {"question", "most"}
        study.refresh_from_db()
        assert study.rules["stopping"] == RULE

    def test_the_same_rule_again_is_no_change(self, study):
        events = AuditEvent.objects.count()
        stopping.set_stopping_rule(study, actor=None, **RULE)
        assert AuditEvent.objects.count() == events


def test_the_command_asks_at_once_and_takes_open_places_away_once_the_rule_is_off(study, task, capsys):
    vote(task, FIRST, SECOND, FIRST)
    call_command("stop_early", study.slug)
    assert "Votes asked for: 1. Open places taken away: 0." in capsys.readouterr().out
    call_command("stop_early", study.slug, json=True)
    assert json.loads(capsys.readouterr().out) == {"more": 0, "fewer": 0}
    stopping.set_stopping_rule(study, actor=None, question="")
    call_command("stop_early", study.slug)
    assert "Open places taken away: 1." in capsys.readouterr().out


def test_the_command_tells_what_is_missing(db):
    without = factories.StudyFactory(preset="cmi-pref")
    for slug, message in ((without.slug, "set a rule"), ("nowhere", "no study")):
        with pytest.raises(CommandError, match=message):
            call_command("stop_early", slug)
