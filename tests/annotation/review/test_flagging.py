"""What each rule finds, and the cases made of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.jobs import jobs
from annotation.models import (
    Assignment,
    CaseReason,
    GoldKey,
    Item,
    Job,
    Judgment,
    Rater,
    ReviewCase,
    Task,
)
from annotation.review import flag_rules, flagging
from annotation.review.flag_rules import FlagRules
from tests import factories
from tests.annotation.importing.reviewing import case, unresolved, vote, votes

pytestmark = pytest.mark.django_db


def only(study, rule: str, **values):
    """The study asks for this rule alone."""
    others = {key: {"on": False} for key in flag_rules.KINDS if key != rule}
    study.rules = {**study.rules, "review": {"flags": {**others, rule: {"on": True, **values}}}}
    study.save()
    return study


def beside(task: Task) -> Task:
    """Another task of the same item."""
    return Task.objects.create(
        study=task.study, item_version=task.item_version, external_id="a2", overlap=2, shuffle_key=0.5
    )


def evidence(study, name: str) -> dict:
    return CaseReason.objects.get(case__study=study, case__item__external_id=name).evidence


def flagged(study) -> list[str]:
    flagging.apply_rules(study, actor=None)
    return sorted(unresolved(study))


class TestCodes:
    def test_an_item_whose_raters_give_a_code_is_flagged_with_the_counts(self, study):
        only(study, "codes")
        task, clean = factories.rating_task(study, "a"), factories.rating_task(study, "b")
        vote(task, codes=("Q", "R"))
        vote(task, 3, codes=("R",))
        votes(clean, 1, 1)
        assert flagged(study) == ["a"]
        found = evidence(study, "a")
        assert found["codes"] == {"Q": 1, "R": 2}
        assert (found["n_raters"], found["n_judgments"], found["tasks"]) == (2, 2, [task.pk])
        assert ReviewCase.objects.get().priority == pytest.approx(0.75)

    def test_what_does_not_count_flags_nothing(self, study):
        out = ({"effective": False}, {"excluded": True}, {"surplus": True, "effective": False})
        for n, fields in enumerate((*out, {"origin": Judgment.Origin.EXPERT})):
            vote(factories.rating_task(study, f"task-{n}"), 1, codes=("R",), **fields)
        assert flagged(study) == []

    def test_only_the_chosen_codes_and_enough_raters_flag(self, study):
        only(study, "codes", codes=["R"], min_raters=2)
        tasks = [factories.rating_task(study, name) for name in "ab"]
        for task in tasks:
            vote(task, codes=("R",))
            vote(task, codes=("Q",))
        vote(tasks[0], codes=("R",))
        assert flagged(study) == ["a"]

    def test_one_rater_is_one_however_many_answers_they_flag(self, study):
        only(study, "codes", min_raters=2)
        task = factories.rating_task(study, "a")
        second = beside(task)
        rater = factories.rater(study)
        for one in (task, second):
            vote(one, codes=("A",), rater=rater)
        assert flagged(study) == []

    def test_the_task_with_the_most_codes_is_judged_blind(self, study):
        only(study, "codes")
        task = factories.rating_task(study, "a")
        worse = beside(task)
        vote(task, codes=("A",))
        vote(worse, codes=("A",))
        vote(worse, codes=("R",))
        flagging.apply_rules(study, actor=None)
        assert ReviewCase.objects.get().task == worse


class TestDisagreement:
    def test_a_variance_above_the_threshold_flags_and_one_at_it_does_not(self, study):
        only(study, "disagreement")
        votes(factories.rating_task(study, "at"), 1, 2, 3)
        votes(factories.rating_task(study, "above"), 1, 3)
        votes(factories.rating_task(study, "alone"), 5)
        assert flagged(study) == ["above"]
        found = evidence(study, "above")
        assert (found["question"], found["n"], found["mean"], found["variance"]) == ("correctness", 2, 2, 2)
        assert found["strength"] == 0.25

    @pytest.mark.parametrize(
        ("preset", "votes_by_name", "flags", "expected"),
        [
            # Other scales are stretched to 1 to 5.
            ("mushra", {"little": (50, 70), "much": (50, 90)}, "much", {"variance_on_5": pytest.approx(1.28)}),
            # Split votes flag from the share of the minority on.
            (
                "cmi-pref", {"2-1": (1, 1, 2), "3-2": (1, 1, 1, 2, 2), "1-1": (1, 2)}, "3-2",
                {"votes": {"1": 3, "2": 2}, "minority": pytest.approx(0.4)},
            ),
        ],
    )  # fmt: skip
    def test_votes_that_lie_far_apart_flag_on_any_scale(self, preset, votes_by_name, flags, expected):
        study = only(factories.StudyFactory(preset=preset), "disagreement")
        for name, values in votes_by_name.items():
            votes(factories.comparison_task(study, name), *values)
        assert flagged(study) == [flags]
        assert expected.items() <= evidence(study, flags).items()

    def test_experts_own_judgments_are_not_disagreement(self, study):
        only(study, "disagreement")
        task = factories.rating_task(study, "a")
        vote(task, 1)
        vote(task, 5, origin=Judgment.Origin.EXPERT)
        assert flagged(study) == []


def test_low_confidence_flags_by_the_mean():
    study = only(factories.StudyFactory(preset="cmi-pref"), "low_confidence")
    for name, sure in (("unsure", (1, 2)), ("sure", (2, 4)), ("once", (1,))):
        task = factories.comparison_task(study, name)
        for confidence in sure:
            vote(task, 1, confidence=confidence)
    assert flagged(study) == ["unsure"]
    found = evidence(study, "unsure")
    assert (found["confidences"], found["mean"], found["strength"]) == ([1, 2], 1.5, 0.875)


def test_gold_that_several_raters_fail_is_flagged_and_traps_are_not(study):
    only(study, "failed_gold")
    for name, kind in (("gold", Task.Kind.GOLD), ("trap", Task.Kind.TRAP), ("passed", Task.Kind.GOLD)):
        task = factories.rating_task(study, name)
        Task.objects.filter(pk=task.pk).update(kind=kind)
        GoldKey.objects.create(task=task, question_key="correctness", value=5, tolerance=1)
        votes(task, *((4, 5, 1) if name == "passed" else (1, 5, 2)))
    assert flagged(study) == ["gold"]
    assert evidence(study, "gold")["n_failed"] == 2


class TestUnannotated:
    def test_bare_items_are_flagged_once_the_study_has_stopped(self, study):
        only(study, "unannotated")
        factories.rating_task(study, "bare")
        judged = factories.rating_task(study, "judged")
        Task.objects.filter(pk=judged.pk).update(n_judgments=1)
        assert flagged(study) == []
        study.state = "paused"
        study.save()
        assert flagged(study) == ["bare"]

    def test_items_that_several_raters_skip_are_flagged_while_it_runs(self, study):
        only(study, "unannotated")
        for name, n_skips in (("twice", 2), ("once", 1)):
            task = factories.rating_task(study, name)
            for _ in range(n_skips):
                rater = factories.rater(study)
                Assignment.objects.create(
                    task=task, rater=rater, protocol_version=study.protocol_version, presentation=[0],
                    state=Assignment.State.SKIPPED, skip_reason="expertise", closed_at=timezone.now(),
                    expires_at=timezone.now(),
                )  # fmt: skip
                Rater.objects.filter(pk=rater.pk).update(n_skips=1)
        assert flagged(study) == ["twice"]
        assert evidence(study, "twice")["reasons"] == ["expertise"]


def test_an_audit_draws_complete_items_by_a_hash_that_anybody_can_compute(study):
    only(study, "audit", share=0.3)
    names = [f"item-{n}" for n in range(12)]
    for name in [*names, "incomplete"]:
        factories.rating_task(study, name)
    Task.objects.exclude(external_id="incomplete").update(n_judgments=2)
    expected = sorted(name for name in names if flag_rules.audit_draw(study.seed, name) < 0.3)
    assert 0 < len(expected) < len(names)
    assert flagged(study) == expected


class TestFiringOnce:
    @pytest.fixture
    def task(self, study):
        task = factories.rating_task(study, "a")
        votes(task, 1, 5, submitted_at=timezone.now() - timedelta(hours=1))
        return task

    def test_applying_twice_finds_nothing_twice(self, study, task):
        first = flagging.apply_rules(study, actor=None)
        assert (first.n_opened, first.n_added, first.by_rule) == (1, 0, {"disagreement": 1})
        assert flagging.apply_rules(study, actor=None) == flagging.FlaggingResult()
        assert ReviewCase.objects.get().reasons.count() == 1

    def test_another_rule_is_a_further_reason(self, study, task):
        flagging.apply_rules(study, actor=None)
        vote(task, codes=("E",))
        assert flagging.apply_rules(study, actor=None).n_added == 1
        one = ReviewCase.objects.get()
        assert one.rules == ["disagreement", "codes"]
        assert one.priority == pytest.approx(
            1.5
        )  # a variance of 8 is the largest there is; one voice is a half

    def test_after_the_case_is_resolved_only_later_votes_fire_again(self, study, task):
        resolved = case(task, state="resolved", resolved_at=timezone.now())
        assert flagged(study) == []
        vote(task, 1)
        assert flagged(study) == ["a"]
        assert resolved.reasons.count() == 0

    def test_an_item_that_nothing_new_is_said_of_is_audited_once(self, study):
        only(study, "audit", share=1.0)
        task = factories.rating_task(study, "a")
        Task.objects.update(n_judgments=2)
        assert flagged(study) == ["a"]
        ReviewCase.objects.update(state="resolved", resolved_at=timezone.now())
        assert flagged(study) == []
        assert task.item_version.review_cases.count() == 1

    def test_withdrawn_items_and_versions_before_the_current_one_are_left_alone(self, study, task):
        item = task.item_version.item
        item.current_version = item.versions.create(number=2, content_sha256="1" * 64)
        item.save()
        gone = factories.rating_task(study, "gone")
        votes(gone, 1, 5)
        Item.objects.filter(external_id="gone").update(state="withdrawn")
        assert flagged(study) == []


class TestPreview:
    def test_it_counts_per_rule_what_is_there_and_what_is_new_and_changes_nothing(self, study):
        for name in "ab":
            votes(factories.rating_task(study, name), 1, 5)
        flagging.apply_rules(study, actor=None)
        votes(factories.rating_task(study, "c"), 1, 5)
        rules = FlagRules.of({"review": {"flags": {"codes": {"on": False}}}})
        found = {count.rule: count for count in flagging.preview_rules(study, rules)}
        assert list(found) == ["disagreement", "low_confidence", "failed_gold"]
        disagreement = found["disagreement"]
        assert (disagreement.n_items, disagreement.n_new, disagreement.examples) == (3, 1, ("c", "a", "b"))
        assert found["low_confidence"].n_items == 0
        assert ReviewCase.objects.count() == 2

    def test_the_number_of_queries_does_not_depend_on_the_data(self, study, django_assert_num_queries):
        for name in "abc":
            votes(factories.rating_task(study, name), 1, 5)
        rules = FlagRules.of({})
        flagging.preview_rules(study, rules)
        with django_assert_num_queries(6):  # one per rule, and the protocol's versions for three of them
            flagging.preview_rules(study, rules)


def test_a_job_applies_the_rules_and_reports(study):
    votes(factories.rating_task(study, "a"), 1, 5)
    job = flagging.enqueue_flagging(study, actor=factories.member(study, "researcher"))
    jobs.run(job.pk)
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.report["n_opened"], job.done, job.total) == (Job.State.DONE, 1, 1, 1)
