"""Cases where a model and the raters disagree."""

from __future__ import annotations

import math

import pytest
from django.utils import timezone

from annotation.models import CaseReason, Judgment, Task
from annotation.review import flagging
from annotation.review.flag_rules import FlagRules
from annotation.review.labels import evidence_parts
from scoring import learned
from scoring.models import Score, Scorer
from tests import factories
from tests.annotation.importing.reviewing import unresolved, votes
from tests.scoring.policies.scores import flag_conflicts, score, score_pair, scored_by, version_of

pytestmark = pytest.mark.django_db


def rate(study, scorer: Scorer, name: str, given: tuple[float, ...], value: float, output: str = "value"):
    task = factories.rating_task(study, name)
    votes(task, *given)
    score(scorer, task, **{output: (value,)})


def compared(study, name: str, given: tuple[int, ...]) -> Task:
    """Two clips with these votes, on alignment."""
    task = factories.comparison_task(study, name)
    votes(task, *given)
    return task


def evidence(name: str) -> dict:
    return CaseReason.objects.get(case__item__external_id=name).evidence


@pytest.fixture
def study():
    return factories.StudyFactory(overlap=2)


@pytest.fixture
def pairs():
    return factories.StudyFactory(preset="cmi-pref", overlap=3)


class TestRatings:
    @pytest.mark.parametrize(("key", "output"), [("aqascore", "default"), ("aura", "score")])
    def test_a_rule_that_names_no_output_takes_the_usual_one(self, study, key, output):
        scorer = scored_by(study, key)
        rate(study, scorer, "far", (5, 5), 0.4, output=output)
        rate(study, scorer, "other-output", (5, 5), 0.0, output="entailment")
        flagging.apply_rules(flag_conflicts(study, key), actor=None)
        assert set(unresolved(study)) == {"far"}

    def test_a_probability_is_compared_on_one_scale(self, study):
        scorer = scored_by(study, "aqascore")
        for name, given, value in (
            ("far", (5, 5), 0.4), ("near", (5, 5), 0.6), ("low", (1, 2), 0.9), ("alone", (5,), 0.0)
        ):  # fmt: skip
            rate(study, scorer, name, given, value)
        rate(study, scorer, "other-output", (5, 5), 0.0, output="spread")
        flagging.apply_rules(flag_conflicts(study, "aqascore"), actor=None)
        assert set(unresolved(study)) == {"far", "low"}
        found = evidence("far")
        assert (found["how"], found["human"], found["model"]) == ("scale", 1.0, 0.4)
        assert (found["difference"], found["strength"]) == (pytest.approx(0.6), pytest.approx(0.6))

    def test_the_mean_that_a_judge_of_answers_expects_is_a_probability_too(self, study):
        scorer = scored_by(study, "orca")
        rate(study, scorer, "far", (5, 4), 0.2)
        rate(study, scorer, "near", (5, 4), 0.8)
        flagging.apply_rules(flag_conflicts(study, "orca"), actor=None)
        assert set(unresolved(study)) == {"far"}
        assert evidence("far")["difference"] == pytest.approx((4.5 - 1) / 4 - 0.2)

    def test_scores_without_a_known_range_are_compared_by_rank(self, study):
        scorer = scored_by(study, "clapscore")
        # From worst to best for both, but for one that the model finds the worst and the raters the best.
        for n in range(24):
            rate(study, scorer, f"item-{n}", (1 + n / 8, 1 + n / 8), -0.2 + n / 100)
        rate(study, scorer, "odd", (5, 5), -0.9)
        flagging.apply_rules(flag_conflicts(study, "clapscore", difference=0.6), actor=None)
        assert set(unresolved(study)) == {"odd"}
        assert evidence("odd")["how"] == "ranks"

    def test_a_handful_of_scores_has_no_ranks(self, study):
        scorer = scored_by(study, "clapscore")
        rate(study, scorer, "a", (1, 1), 0.9)
        rate(study, scorer, "b", (5, 5), 0.1)
        assert flagging.apply_rules(flag_conflicts(study, "clapscore"), actor=None).n_opened == 0

    def test_a_scorer_that_has_not_scored_the_study_finds_nothing(self, study):
        votes(factories.rating_task(study, "a"), 5, 5)
        assert flagging.apply_rules(flag_conflicts(study, "aqascore"), actor=None).n_opened == 0


class TestPairs:
    def test_a_model_that_is_sure_of_the_other_side_than_most_raters_is_a_conflict(self, pairs):
        scorer = scored_by(pairs, "aqascore-pairs", prefers_first_above=0.5)
        for name, given, value, swapped in (
            ("against", (1, 1, 2), 0.1, False),
            ("with", (1, 1, 2), 0.9, False),
            ("unsure", (1, 1, 2), 0.4, False),
            ("no majority", (1, 2), 0.0, False),
            ("swapped", (1, 1), 0.9, True),
        ):
            score_pair(scorer, compared(pairs, name, given), value, swapped=swapped)
        flagging.apply_rules(flag_conflicts(pairs, "aqascore-pairs"), actor=None)
        assert set(unresolved(pairs)) == {"against", "swapped"}
        found = evidence("against")
        assert (found["first"], found["second"], found["model_prefers"]) == (2, 1, 2)
        assert found["difference"] == pytest.approx(0.8)

    def test_a_difference_is_undecided_at_nothing(self, pairs):
        scorer = scored_by(pairs, "aqascore-pairs", prefers_first_above=0.0)
        score_pair(scorer, compared(pairs, "a", (1, 1)), -0.6)
        score_pair(scorer, compared(pairs, "b", (2, 2)), -0.6)
        flagging.apply_rules(flag_conflicts(pairs, "aqascore-pairs"), actor=None)
        assert set(unresolved(pairs)) == {"a"}


class TestDifferencesOfScores:
    """Of a scorer of single clips with an output per question: the difference of two is the log-odds of the first."""

    def test_a_clear_difference_against_most_votes_is_a_conflict(self, pairs):
        scorer = scored_by(pairs, "cmi-rm")
        for name, given, alignment in (
            ("against", (1, 1, 2), (0.5, 2.5)), ("with", (1, 1, 2), (2.5, 0.5)),
            ("unsure", (1, 1, 2), (0.0, 1.0)), ("no majority", (1, 2), (0.0, 9.0)),
            ("the other way", (2, 2), (800.0, -800.0)),
        ):  # fmt: skip
            score(scorer, compared(pairs, name, given), alignment=alignment, musicality=(0.0, 9.0))
        flagging.apply_rules(flag_conflicts(pairs, "cmi-rm"), actor=None)
        assert set(unresolved(pairs)) == {"against", "the other way"}
        found = evidence("against")
        chance = 1 / (1 + math.exp(2.0))
        assert (found["question"], found["output"], found["how"]) == ("alignment", "alignment", "differences")
        assert (found["first"], found["second"], found["model_prefers"]) == (2, 1, 2)
        assert (found["score"], found["difference"]) == (pytest.approx(-2.0), pytest.approx(1 - 2 * chance))
        assert evidence("the other way")["difference"] == 1.0

    @pytest.mark.parametrize(
        ("values", "conflicts"),
        [
            ({"output": "musicality"}, False),  # of which nobody was asked here
            ({"question": "musicality"}, False),
            ({"output": "musicality", "question": "alignment"}, True),
            ({"output": "alignment"}, True),
        ],
    )
    def test_a_rule_may_name_the_question_and_the_output(self, pairs, values, conflicts):
        scorer = scored_by(pairs, "cmi-rm")
        score(scorer, compared(pairs, "one", (1, 1)), alignment=(0.0, 5.0), musicality=(0.0, 5.0))
        flagging.apply_rules(flag_conflicts(pairs, "cmi-rm", **values), actor=None)
        assert bool(unresolved(pairs)) == conflicts

    def test_the_promoted_version_counts_not_the_one_that_ran_last(self, pairs):
        first = scored_by(pairs, "cmi-rm")
        score(first, compared(pairs, "one", (1, 1)), alignment=(0.0, 5.0))
        scored_by(pairs, "cmi-rm", digest="later")
        assert (
            flagging.preview_rules(pairs, FlagRules.of(flag_conflicts(pairs, "cmi-rm").rules))[0].n_items == 0
        )
        version_of(pairs, first, promoted_at=timezone.now())
        flagging.apply_rules(flag_conflicts(pairs, "cmi-rm"), actor=None)
        assert set(unresolved(pairs)) == {"one"}

    def test_the_reason_can_be_read(self, pairs):
        score(scored_by(pairs, "cmi-rm"), compared(pairs, "one", (1, 1)), alignment=(0.0, 5.0))
        flagging.apply_rules(flag_conflicts(pairs, "cmi-rm"), actor=None)
        read = {str(name): value for _key, name, value in evidence_parts(evidence("one"))}
        assert (read["votes for the first"], read["votes for the second"]) == (2, 0)
        assert read["the model prefers"] == 2  # the slot: pages say which system is in it


def test_a_sweep_takes_up_scores_that_come_after_the_votes(study):
    scorer = scored_by(study, "aqascore")
    task = factories.rating_task(study, "a")
    votes(task, 5, 5)
    last = Judgment.objects.latest("pk").pk
    study = flag_conflicts(study, "aqascore")
    flagging.FlagSweep.objects.create(
        study=study, seen={"judgments": last, "exclusions": 0, "scores": 0}, ahead_until=1
    )
    assert flagging.sweep_studies().n_opened == 0
    Score.objects.create(scorer=scorer, candidate=task.slots.get().candidate, value=0.1)
    assert flagging.sweep_studies().n_opened == 1


def test_making_a_version_the_studys_scorer_has_all_of_the_study_looked_at_again(study, monkeypatch):
    """Its scores of what it did not learn from are older than that."""
    monkeypatch.setattr(learned, "scorer_options", lambda model: {})
    monkeypatch.setattr(learned.scoring_runs, "create_or_join", lambda *_, **__: None)
    monkeypatch.setattr(learned.prescoring, "set_prescore", lambda *_, **__: None)
    scorer = Scorer.objects.create(key="orca", digest="o")
    rate(study, scorer, "a", (5, 5), 0.1)
    study = flag_conflicts(study, "orca")
    assert flagging.sweep_studies().n_opened == 0
    learned.promote(version_of(study, scorer), actor=None)
    assert flagging.sweep_studies().n_opened == 1
