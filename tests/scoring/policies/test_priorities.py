"""Priorities by what a vote would teach: what they are made of, and when they are reckoned anew."""

from __future__ import annotations

import math

import pytest
from django.utils import timezone

from annotation.models import OrderingPolicy, Study
from annotation.rating import task_selection
from scoring.models import LearnedModel
from scoring.policies import priorities
from tests import factories
from tests.analytics.votes import vote
from tests.scoring.policies.scores import by, score, score_pair, scored_by, version_of

pytestmark = pytest.mark.django_db


def order(found: dict[str, float]) -> list[str]:
    return sorted(found, key=lambda name: -found[name])


class TestPairs:
    @pytest.fixture
    def study(self):
        return factories.StudyFactory(preset="cmi-pref", overlap=5)

    @pytest.fixture
    def tasks(self, study):
        return [factories.comparison_task(study, name) for name in "abc"]

    def test_those_whose_scores_are_close_come_first(self, study, tasks):
        scorer = scored_by(study, "cmi-rm")
        for task, alignment, musicality in zip(tasks, (2.0, -0.1, 1.0), (-2.0, 0.3, 0.0), strict=True):
            score(scorer, task, alignment=(alignment, 0.0))
            score(scorer, task, musicality=(musicality, 0.0))
        found = by(study, "cmi-rm", uncertainty=1)
        assert found == {"a": 0.0, "b": 1.0, "c": 0.5}  # mean |margin| 2, 0.2 and 0.5

    def test_one_that_is_not_scored_is_of_middling_uncertainty(self, study, tasks):
        scorer = scored_by(study, "cmi-rm")
        score(scorer, tasks[0], alignment=(2.0, 0.0))
        score(scorer, tasks[1], alignment=(0.1, 0.0))
        assert by(study, "cmi-rm", uncertainty=1) == {"a": 0.0, "b": 1.0, "c": 0.5}

    def test_those_whose_votes_say_otherwise_than_the_model_come_first(self, study, tasks):
        scorer = scored_by(study, "cmi-rm")
        for task in tasks:
            score(scorer, task, alignment=(2.0, 0.0))
        for task, choices in zip(tasks, ((1, 1), (2, 2), (3, 1)), strict=True):
            for choice in choices:
                vote(task, question="alignment", choice=choice)
        # By hand: the model says 0.88; shares of the first are 1, 0 and 0.75, of two votes each.
        says = 1 / (1 + math.exp(-2))
        distances = {"a": 1 - says, "b": says, "c": says - 0.75}
        assert order(by(study, "cmi-rm", disagreement=1)) == order(distances) == ["b", "c", "a"]

    def test_more_votes_against_the_model_weigh_more_than_one(self, study, tasks):
        scorer = scored_by(study, "clapscore")
        for task, margin in zip(tasks, (0.2, 0.2, -0.3), strict=True):
            score(scorer, task, value=(margin, 0.0))
        for task, n in ((tasks[0], 1), (tasks[1], 3), (tasks[2], 3)):
            for _ in range(n):
                vote(task, question="alignment", choice=2)
        assert order(by(study, "clapscore", disagreement=1)) == ["b", "a", "c"]

    def test_a_scorer_of_pairs_is_least_certain_near_its_middle_whichever_way_it_names_them(
        self, study, tasks
    ):
        scorer = scored_by(study, "aqascore-pairs", prefers_first_above=0.5)
        for task, value, swapped in zip(tasks, (0.9, 0.55, 0.2), (False, True, True), strict=True):
            score_pair(scorer, task, value, swapped=swapped)
            vote(task, question="alignment", choice=1)
        assert order(by(study, "aqascore-pairs", uncertainty=1)) == ["b", "c", "a"]
        # The first is preferred with 0.9, 0.45 and 0.8.
        assert order(by(study, "aqascore-pairs", disagreement=1)) == ["b", "c", "a"]


class TestRatings:
    @pytest.fixture
    def study(self):
        return factories.StudyFactory(overlap=5)

    @pytest.fixture
    def tasks(self, study):
        return [factories.rating_task(study, name) for name in "abc"]

    def test_those_of_which_the_model_foretells_various_ratings_come_first(self, study, tasks):
        scorer = scored_by(study, "orca")
        for task, variance in zip(tasks, (0.01, 0.09, 0.04), strict=True):
            score(scorer, task, value=(0.5,))
            score(scorer, task, variance=(variance,))
        assert by(study, "orca", uncertainty=1) == {"a": 0.0, "b": 1.0, "c": 0.5}

    def test_ratings_are_held_against_the_model_on_its_scale(self, study, tasks):
        scorer = scored_by(study, "orca")
        for task, said, rating in zip(tasks, (0.9, 0.9, 0.5), (5, 1, 2), strict=True):
            score(scorer, task, value=(said,))
            vote(task, rating)
        # A rating of 5 is 1, of 1 is 0, of 2 is a quarter: 0.1, 0.9 and 0.25 apart.
        assert by(study, "orca", disagreement=1) == {"a": 0.0, "b": 1.0, "c": 0.5}

    def test_scores_without_a_scale_are_held_against_ratings_by_rank(self, study, tasks):
        scorer = scored_by(study, "clapscore")
        for task, said, rating in zip(tasks, (-0.9, -0.2, 0.3), (1, 5, 4), strict=True):
            score(scorer, task, value=(said,))
            vote(task, rating)
        found = by(study, "clapscore", disagreement=1)
        assert found["a"] == 0.0
        assert min(found["b"], found["c"]) > 0

    def test_without_a_model_those_with_fewer_judgments_come_first(self, study, tasks):
        vote(tasks[0], 3)
        vote(tasks[2], 3)
        vote(tasks[2], 4)
        assert by(study, "", uncertainty=5, coverage=1) == {"a": 0.5, "b": 1.0, "c": 0.33}

    def test_the_three_are_weighed(self, study, tasks):
        scorer = scored_by(study, "orca")
        for task, variance in zip(tasks, (0.01, 0.09, 0.04), strict=True):
            score(scorer, task, variance=(variance,))
        vote(tasks[1], 3)
        assert by(study, "orca", uncertainty=3, coverage=1) == {"a": 0.25, "b": 0.88, "c": 0.63}


class TestSweep:
    @pytest.fixture
    def study(self):
        study = factories.StudyFactory(overlap=5)
        for name in "ab":
            factories.rating_task(study, name)
        return task_selection.set_ordering(study, actor=None)

    def test_it_looks_again_once_something_has_changed(self, study, django_assert_num_queries):
        assert priorities.sweep() == 2
        # Whether there are studies, the lock, the studies, the model, the state, and the lock again.
        with django_assert_num_queries(6):
            assert priorities.sweep() == 0
        vote(study.tasks.get(external_id="a"), 3)
        assert priorities.sweep() == 1

    def test_a_model_that_is_promoted_begins_another_version(self, study):
        priorities.sweep()
        scorer = scored_by(study, "orca")
        model = version_of(study, scorer)
        priorities.sweep()
        assert OrderingPolicy.objects.count() == 1
        LearnedModel.objects.filter(pk=model.pk).update(promoted_at=timezone.now())
        priorities.sweep()
        newest = task_selection.ordering_policy_of(Study.objects.get(pk=study.pk))
        assert (newest.number, newest.made_from) == (2, f"orca@{scorer.digest}")

    def test_it_leaves_studies_alone_that_have_no_policy_or_are_closed(
        self, study, django_assert_num_queries
    ):
        task_selection.set_ordering(study, actor=None, on=False)
        with django_assert_num_queries(1):
            assert priorities.sweep() == 0
        Study.objects.update(state=Study.State.CLOSED)
        task_selection.set_ordering(study, actor=None, on=True)
        assert priorities.sweep() == 0
