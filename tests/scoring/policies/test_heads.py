"""A model of music in studies whose questions are not called like its heads: what it learned from it also speaks of."""

from __future__ import annotations

import math

import pytest

from analytics.data.questions import measured_questions
from analytics.data.votes import load_votes as read
from analytics.training.examples import music_examples
from annotation.errors import InvalidInput
from annotation.models import CaseReason, Study
from annotation.review import flagging
from annotation.studies.protocols import add_protocol_version
from scoring.policies import hints
from tests import factories
from tests.analytics.votes import vote
from tests.annotation.rating.rules import protocols
from tests.scoring.policies.scores import by, flag_conflicts, score, scored_by, version_of

pytestmark = pytest.mark.django_db


def conflicts(study: Study, scorer: str = "cmi-rm", **rule) -> dict[str, dict]:
    flagging.apply_rules(flag_conflicts(study, scorer, **rule), actor=None)
    return {one.case.item.external_id: one.evidence for one in CaseReason.objects.all()}


class TestOverallPreferences:
    @pytest.fixture
    def study(self):
        return factories.StudyFactory(preset="music-arena", overlap=9)

    @pytest.fixture
    def tasks(self, study):
        """Three pairs, on which the model is sure, unsure and in between."""
        tasks, scorer = [factories.comparison_task(study, name) for name in "abc"], scored_by(study, "cmi-rm")
        for task, musicality in zip(tasks, (3.0, 0.1, -1.0), strict=True):
            score(scorer, task, alignment=(0.0, 9.0), musicality=(musicality, 0.0))
        return tasks

    def test_they_teach_musicality(self, study, tasks):
        vote(tasks[0], question="overall", choice=1)
        said = music_examples(study, [read(one) for one in measured_questions(study)])
        assert [list(one.example.votes) for one in said] == [["musicality"]]

    def test_tasks_are_ordered_by_how_sure_of_them_the_model_is(self, study, tasks):
        assert by(study, "cmi-rm", uncertainty=1) == {"a": 0.0, "b": 1.0, "c": 0.5}

    def test_tasks_are_ordered_by_how_far_from_the_model_their_votes_are(self, study, tasks):
        for task in tasks:
            vote(task, question="overall", choice=2)
        assert by(study, "cmi-rm", disagreement=1) == {"a": 1.0, "b": 0.5, "c": 0.0}

    def test_votes_against_the_model_are_a_conflict(self, study, tasks):
        for task in tasks:
            vote(task, question="overall", choice=2)
            vote(task, question="overall", choice=2)
        found = conflicts(study)
        assert set(found) == {"a"}
        assert (found["a"]["question"], found["a"]["output"]) == ("overall", "musicality")

    def test_raters_are_told_its_chance(self, study, tasks):
        hints.set_rule(study, actor=None, scorer="cmi-rm", withheld=0.5)
        assert hints.sweep() == 3
        tasks[0].refresh_from_db()
        assert tasks[0].hint["answers"] == {"overall": pytest.approx(1 / (1 + math.exp(-3.0)))}


class TestRatingsOfOtherNames:
    @pytest.fixture
    def study(self):
        return factories.StudyFactory(preset="pam", overlap=9)

    def rated(self, study, n: int = 24) -> None:
        """The model ranks clips as people rate their relevance, but for the last, which it ranks last."""
        scorer = scored_by(study, "cmi-rm")
        for number in range(n):
            task = factories.rating_task(study, f"item-{number:02}")
            model = -1.0 if number == n - 1 else float(number)
            score(scorer, task, alignment=(model,), musicality=(0.0,))
            for _ in range(2):
                vote(task, 1 + 4 * number / n, question="relevance")

    def test_tasks_are_ordered_by_how_far_from_the_model_their_ratings_are(self, study):
        self.rated(study)
        found = by(study, "cmi-rm", disagreement=1)
        assert max(found, key=lambda name: found[name]) == "item-23"

    def test_ratings_against_the_model_are_a_conflict(self, study):
        self.rated(study)
        found = conflicts(study, difference=0.6)
        assert set(found) == {"item-23"}
        assert (found["item-23"]["question"], found["item-23"]["output"]) == ("relevance", "alignment")

    def test_a_question_that_the_rule_names_is_held_against_its_head(self, study):
        self.rated(study)
        assert conflicts(study, difference=0.6, question="quality") == {}


def test_a_scorer_that_says_nothing_of_the_questions_is_not_offered_to_raters():
    study = factories.StudyFactory()
    asked = [protocols.preference(key=key) for key in ("louder", "longer")]
    definition = protocols.definition(*asked, layout="comparison")
    add_protocol_version(study, definition=definition, actor=None)
    scored_by(study, "cmi-rm")
    with pytest.raises(InvalidInput) as refused:
        hints.set_rule(study, actor=None, scorer="cmi-rm", withheld=0.5)
    assert "gives no rating and no preference" in refused.value.problems[0].message


class TestJudgeOfOneQuestion:
    """A judge of answers that learned one of several ratings speaks of that one."""

    @pytest.fixture
    def study(self):
        """The judge learned `fluent` and finds the answers "a" and "b" as fluent as raters find "a"."""
        study = factories.StudyFactory(overlap=9)
        both = [protocols.question(key="correct"), protocols.question(key="fluent")]
        study.protocol_version = add_protocol_version(
            study, definition=protocols.definition(*both, candidate="text"), actor=None
        )
        scorer = scored_by(study, "orca", weights="w")
        version_of(study, scorer, plan={"question": "fluent"})
        for name, correct, fluent in (("a", 1, 5), ("b", 5, 1)):
            task = factories.rating_task(study, name)
            score(scorer, task, value=(1.0,))
            for _ in range(2):
                vote(task, correct, question="correct")
                vote(task, fluent, question="fluent")
        return study

    def test_raters_are_told_of_that_question(self, study):
        hints.set_rule(study, actor=None, scorer="orca", withheld=0.5)
        hints.sweep()
        assert [task.hint["answers"] for task in study.tasks.all()] == [{"fluent": 5.0}] * 2

    def test_tasks_are_ordered_by_that_question(self, study):
        assert by(study, "orca", disagreement=1) == {"a": 0.0, "b": 1.0}

    @pytest.mark.parametrize(("named", "found"), [("", ["b"]), ("correct", ["a"])])
    def test_cases_are_by_that_question_unless_the_rule_names_another(self, study, named, found):
        assert list(conflicts(study, "orca", question=named)) == found
