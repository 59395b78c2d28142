"""How far templates agree, with each other and with people, from stored scores and judgments."""

from __future__ import annotations

from typing import Any

import pytest
from scipy import stats

from analytics.reports.sensitivity import sensitivity
from analytics.statistics.bootstrap import Resampling
from annotation.models import Answer, Judgment, Study, Task, TaskCandidate
from annotation.rating import exclusions
from scoring.models import Score, Scorer
from tests import factories
from tests.analytics.votes import vote, votes

pytestmark = pytest.mark.django_db

QUICK = Resampling(replicates=20)
RATINGS = {"a": [1, 2], "b": [3], "c": [2, 3, 4], "d": [5, 5]}
DEFAULT = {"a": 0.1, "b": 0.5, "c": 0.3, "d": 0.9}
HEARD = {"a": 0.2, "b": 0.3, "c": 0.5, "d": 0.7}


@pytest.fixture
def scorer() -> Scorer:
    return Scorer.objects.create(key="aqascore", digest="d" * 64, config={"metric": "aqascore"})


def slots(task: Task) -> list[TaskCandidate]:
    return list(TaskCandidate.objects.filter(task=task).order_by("slot").select_related("candidate"))


def score(scorer: Scorer, task: Task, slot: int = 0, **outputs: float) -> None:
    for output, value in outputs.items():
        Score.objects.create(scorer=scorer, candidate=slots(task)[slot].candidate, output=output, value=value)


def score_both(scorer: Scorer, task: Task, first: float, second: float) -> None:
    score(scorer, task, 0, default=first)
    score(scorer, task, 1, default=second)


@pytest.fixture
def rated(scorer) -> Study:
    study = factories.StudyFactory(overlap=9)
    for name, given in RATINGS.items():
        task = factories.rating_task(study, name)
        votes(task, given)
        score(scorer, task, default=DEFAULT[name], heard=HEARD[name], mean=0.0, spread=9.0)
    return study


def figures(study: Study, scorer: Scorer) -> dict[str, Any]:
    return sensitivity(study, scorer, resampling=QUICK)


def test_templates_are_compared_with_each_other(rated, scorer):
    report = figures(rated, scorer)
    first, second = report["templates"]
    assert (first["template"], first["n"], first["mean"]) == ("default", 4, pytest.approx(0.45))
    assert first["sd"] == pytest.approx(stats.tstd(list(DEFAULT.values())))
    assert (second["template"], second["mean"]) == ("heard", pytest.approx(0.425))
    rho = stats.spearmanr([*DEFAULT.values()], [*HEARD.values()]).statistic
    assert report["agreement"] == pytest.approx(rho)
    sds = [stats.tstd([DEFAULT[name], HEARD[name]]) for name in RATINGS]
    assert report["mean_spread"] == pytest.approx(sum(sds) / 4)


def test_the_items_on_which_they_differ_most_come_first(rated, scorer):
    widest = figures(rated, scorer)["widest"]
    assert [one["item"] for one in widest][-1] == "a"
    assert next(one for one in widest if one["item"] == "c") == {
        "item": "c", "system": "system-1", "other_system": "", "sd": pytest.approx(stats.tstd([0.3, 0.5])),
        "lowest": 0.3, "lowest_template": "default", "highest": 0.5, "highest_template": "heard",
    }  # fmt: skip


def test_each_template_is_compared_with_the_mean_ratings(rated, scorer):
    humans = figures(rated, scorer)["humans"]
    means = [sum(given) / len(given) for given in RATINGS.values()]
    tests = {"lcc": stats.pearsonr, "srcc": stats.spearmanr, "ktau": stats.kendalltau}
    assert [one["statistic"] for one in humans] == list(tests)
    for one, expected in zip(humans, tests.values(), strict=True):
        for estimate, values in zip(one["by_template"], (DEFAULT, HEARD), strict=True):
            assert estimate["value"] == pytest.approx(expected(list(values.values()), means).statistic)
    both = [estimate["value"] for estimate in humans[0]["by_template"]]
    assert humans[0]["spread"] == {
        "mean": pytest.approx(sum(both) / 2), "sd": pytest.approx(stats.tstd(both)), "n": 2
    }  # fmt: skip
    assert humans[0]["by_template"][0]["interval"] is not None


def test_only_standing_judgments_count(rated, scorer):
    before = figures(rated, scorer)["humans"]
    task = Task.objects.get(study=rated, external_id="a")
    out = Judgment.objects.filter(pk=vote(task, 5).pk)
    assert figures(rated, scorer)["humans"] != before
    exclusions.exclude_or_restore(out, study=rated, action="exclude", reason="careless", actor=None)
    for fields in ({"effective": False}, {"surplus": True}, {"origin": Judgment.Origin.EXPERT}):
        vote(task, 5, **fields)
    assert figures(rated, scorer)["humans"] == before


def test_scores_of_another_study_and_another_scorer_stay_out(rated, scorer):
    before = figures(rated, scorer)
    other = Scorer.objects.create(key="aqascore", digest="e" * 64)
    score(other, Task.objects.get(study=rated, external_id="a"), default=0.0)
    score(scorer, factories.rating_task(factories.StudyFactory(), "a"), default=0.0)
    assert figures(rated, scorer) == before


def test_a_missing_score_leaves_the_others(rated, scorer):
    Score.objects.filter(candidate__item_version__item__external_id="a", output="heard").delete()
    report = figures(rated, scorer)
    assert [one["n"] for one in report["templates"]] == [4, 3]
    assert report["humans"][0]["by_template"][1]["n"] == 3
    assert "a" not in [one["item"] for one in report["widest"]]


def test_one_template_has_nothing_to_differ_from(scorer):
    study = factories.StudyFactory()
    score(scorer, factories.rating_task(study, "a"), default=0.5)
    report = figures(study, scorer)
    assert (report["agreement"], report["mean_spread"], report["widest"]) == (None, None, ())
    assert (report["templates"][0]["n"], report["templates"][0]["sd"]) == (1, None)
    assert {one["by_template"][0]["reason"] for one in report["humans"]} <= {"too_few"}


def test_without_scores_the_report_is_empty(rated):
    report = figures(rated, Scorer.objects.create(key="aqascore", digest="f" * 64))
    assert (report["n"], report["templates"], report["humans"]) == (0, (), ())


@pytest.fixture
def compared() -> tuple[Study, list[Task]]:
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    tasks = [factories.comparison_task(study, name) for name in "abcd"]
    first, second, tie, bad = Answer.Choice
    choices_by_task = ([first, first, second], [second], [first, second, tie], [first, tie, bad])
    for task, choices in zip(tasks, choices_by_task, strict=True):
        for choice in choices:
            vote(task, question="alignment", choice=choice)
    return study, tasks


def test_a_scorer_of_single_clips_is_compared_with_the_majority(compared, scorer):
    study, tasks = compared
    for task, values in zip(tasks, ((0.9, 0.1), (0.6, 0.4), (0.1, 0.2), (0.5, 0.5)), strict=True):
        score_both(scorer, task, *values)
    (figure,) = figures(study, scorer)["humans"]
    assert (figure["question"], figure["statistic"]) == ("alignment", "accuracy")
    # Right, wrong, undecided by people, and no difference where they have one.
    (estimate,) = figure["by_template"]
    assert (estimate["value"], estimate["n"]) == (pytest.approx(1.5 / 3), 3)


@pytest.mark.parametrize(("even", "values"), [(0.5, (0.9, 0.7, 0.1, 0.2)), (0.0, (3.0, 0.1, -1.0, -0.5))])
def test_a_scorer_of_pairs_is_taken_at_its_word(compared, even, values):
    study, tasks = compared
    pairs = Scorer.objects.create(key="aqascore-pairs", digest="p" * 64, config={"prefers_first_above": even})
    for task, value in zip(tasks, values, strict=True):
        first, second = sorted((row.candidate for row in slots(task)), key=lambda one: one.pk)
        Score.objects.create(scorer=pairs, candidate=first, other=second, output="default", value=value)
    (figure,) = figures(study, pairs)["humans"]
    assert figure["by_template"][0]["value"] == pytest.approx(1 / 3)
    assert figures(study, pairs)["templates"][0]["n"] == 4


def test_a_pair_shown_the_other_way_round_is_the_same_pair(compared, scorer):
    study, tasks = compared
    for row, slot in zip(slots(tasks[0]), (9, 0), strict=True):
        TaskCandidate.objects.filter(pk=row.pk).update(slot=slot)
    TaskCandidate.objects.filter(task=tasks[0], slot=9).update(slot=1)
    for task in tasks:
        score_both(scorer, task, 0.9, 0.1)
    (figure,) = figures(study, scorer)["humans"]
    assert figure["by_template"][0]["value"] == pytest.approx(2 / 3)


def test_the_number_of_queries_does_not_grow(rated, scorer, django_assert_num_queries):
    figures(rated, scorer)  # loads the protocol, which is cached
    for _ in range(2):
        with django_assert_num_queries(4):
            figures(rated, scorer)
        for name in "efgh":
            task = factories.rating_task(rated, f"{name}{Score.objects.count()}")
            votes(task, [2, 4])
            score(scorer, task, default=0.4, heard=0.6, audible=0.1)
