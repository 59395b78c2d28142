"""How far templates agree, with each other and with people, from stored scores and judgments."""

from __future__ import annotations

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


def candidates(task: Task) -> list:
    return [row.candidate for row in slots(task)]


def slots(task: Task) -> list:
    return list(TaskCandidate.objects.filter(task=task).order_by("slot").select_related("candidate"))


def score(scorer: Scorer, task: Task, slot: int = 0, **outputs: float) -> None:
    for output, value in outputs.items():
        Score.objects.create(scorer=scorer, candidate=candidates(task)[slot], output=output, value=value)


@pytest.fixture
def rated(scorer) -> Study:
    study = factories.StudyFactory(overlap=9)
    for name, given in RATINGS.items():
        task = factories.rating_task(study, name)
        votes(task, given)
        score(scorer, task, default=DEFAULT[name], heard=HEARD[name], mean=0.0, spread=9.0)
    return study


def found(study: Study, scorer: Scorer, **more):
    return sensitivity(study, scorer, resampling=QUICK, **more)


def test_each_template_has_its_mean_and_spread(rated, scorer):
    first, second = found(rated, scorer).templates
    assert (first.template, first.n, first.mean) == ("default", 4, pytest.approx(0.45))
    assert first.sd == pytest.approx(stats.tstd(list(DEFAULT.values())))
    assert (second.template, second.mean) == ("heard", pytest.approx(0.425))


def test_templates_are_compared_with_each_other(rated, scorer):
    report = found(rated, scorer)
    assert report.agreement == pytest.approx(
        stats.spearmanr([*DEFAULT.values()], [*HEARD.values()]).statistic
    )
    sds = [stats.tstd([DEFAULT[name], HEARD[name]]) for name in RATINGS]
    assert report.mean_spread == pytest.approx(sum(sds) / 4)


def test_the_items_on_which_they_differ_most_come_first(rated, scorer):
    widest = found(rated, scorer).widest
    assert [one.item for one in widest][-1] == "a"
    top = next(one for one in widest if one.item == "c")
    assert (top.system, top.lowest_template, top.highest_template) == ("system-1", "default", "heard")
    assert (top.lowest, top.highest, top.sd) == (0.3, 0.5, pytest.approx(stats.tstd([0.3, 0.5])))


def test_each_template_is_compared_with_the_mean_ratings(rated, scorer):
    report = found(rated, scorer)
    means = [sum(given) / len(given) for given in RATINGS.values()]
    assert [one.statistic for one in report.humans] == ["lcc", "srcc", "ktau"]
    for template, values in enumerate((DEFAULT, HEARD)):
        lcc, srcc, ktau = (one.by_template[template].value for one in report.humans)
        assert lcc == pytest.approx(stats.pearsonr(list(values.values()), means).statistic)
        assert srcc == pytest.approx(stats.spearmanr(list(values.values()), means).statistic)
        assert ktau == pytest.approx(stats.kendalltau(list(values.values()), means).statistic)
    lcc = report.humans[0]
    both = [one.value for one in lcc.by_template]
    assert (lcc.spread.mean, lcc.spread.sd, lcc.spread.n) == (
        pytest.approx(sum(both) / 2), pytest.approx(stats.tstd(both)), 2,
    )  # fmt: skip
    assert lcc.by_template[0].interval is not None


def test_only_standing_judgments_count(rated, scorer):
    before = found(rated, scorer).humans
    task = Task.objects.get(study=rated, external_id="a")
    out = vote(task, 5)
    assert found(rated, scorer).humans != before
    exclusions.exclude_or_restore(
        Judgment.objects.filter(pk=out.pk), study=rated, action="exclude", reason="careless", actor=None
    )
    vote(task, 5, effective=False)
    vote(task, 5, surplus=True)
    vote(task, 5, origin=Judgment.Origin.EXPERT)
    assert found(rated, scorer).humans == before


def test_scores_of_another_study_and_another_scorer_stay_out(rated, scorer):
    before = found(rated, scorer)
    other = Scorer.objects.create(key="aqascore", digest="e" * 64)
    score(other, Task.objects.get(study=rated, external_id="a"), default=0.0)
    elsewhere = factories.rating_task(factories.StudyFactory(), "a")
    score(scorer, elsewhere, default=0.0)
    assert found(rated, scorer) == before


def test_a_missing_score_leaves_the_others(rated, scorer):
    Score.objects.filter(candidate__item_version__item__external_id="a", output="heard").delete()
    report = found(rated, scorer)
    assert [one.n for one in report.templates] == [4, 3]
    assert report.humans[0].by_template[1].n == 3
    assert "a" not in [one.item for one in report.widest]


def test_one_template_has_nothing_to_differ_from(scorer):
    study = factories.StudyFactory()
    score(scorer, factories.rating_task(study, "a"), default=0.5)
    report = found(study, scorer)
    assert (report.agreement, report.mean_spread, report.widest) == (None, None, ())
    assert (report.templates[0].n, report.templates[0].sd) == (1, None)
    assert {one.by_template[0].reason for one in report.humans} <= {"too_few"}


def test_without_scores_the_report_is_empty(rated):
    nobody = Scorer.objects.create(key="aqascore", digest="f" * 64)
    report = found(rated, nobody)
    assert (report.n, report.templates, report.humans) == (0, (), ())


@pytest.fixture
def compared() -> tuple[Study, list[Task]]:
    study = factories.StudyFactory(preset="cmi-pref", overlap=9)
    tasks = [factories.comparison_task(study, name) for name in "abcd"]
    first, second, tie, bad = (
        Answer.Choice.FIRST,
        Answer.Choice.SECOND,
        Answer.Choice.TIE,
        Answer.Choice.BOTH_BAD,
    )
    for task, choices in zip(
        tasks, ([first, first, second], [second], [first, second, tie], [first, tie, bad]), strict=True
    ):
        for choice in choices:
            vote(task, question="alignment", choice=choice)
    return study, tasks


def test_a_scorer_of_single_clips_is_compared_with_the_majority(compared, scorer):
    study, tasks = compared
    for task, (one, other) in zip(tasks, ((0.9, 0.1), (0.6, 0.4), (0.1, 0.2), (0.5, 0.5)), strict=True):
        score(scorer, task, 0, default=one)
        score(scorer, task, 1, default=other)
    (figure,) = found(study, scorer).humans
    assert (figure.question, figure.statistic) == ("alignment", "accuracy")
    # Right, wrong, undecided by people, and no difference where they have one.
    assert (figure.by_template[0].value, figure.by_template[0].n) == (pytest.approx(1.5 / 3), 3)


@pytest.mark.parametrize(("even", "values"), [(0.5, (0.9, 0.7, 0.1, 0.2)), (0.0, (3.0, 0.1, -1.0, -0.5))])
def test_a_scorer_of_pairs_is_taken_at_its_word(compared, even, values):
    study, tasks = compared
    pairs = Scorer.objects.create(key="aqascore-pairs", digest="p" * 64, config={"prefers_first_above": even})
    for task, value in zip(tasks, values, strict=True):
        first, second = sorted(candidates(task), key=lambda one: one.pk)
        Score.objects.create(scorer=pairs, candidate=first, other=second, output="default", value=value)
    (figure,) = found(study, pairs).humans
    assert figure.by_template[0].value == pytest.approx(1 / 3)
    assert found(study, pairs).templates[0].n == 4


def test_a_pair_shown_the_other_way_round_is_the_same_pair(compared, scorer):
    study, tasks = compared
    for row, slot in zip(slots(tasks[0]), (9, 0), strict=True):
        TaskCandidate.objects.filter(pk=row.pk).update(slot=slot)
    TaskCandidate.objects.filter(task=tasks[0], slot=9).update(slot=1)
    for task in tasks:
        score(scorer, task, 0, default=0.9)
        score(scorer, task, 1, default=0.1)
    (figure,) = found(study, scorer).humans
    assert figure.by_template[0].value == pytest.approx(2 / 3)


def test_the_number_of_queries_does_not_grow(rated, scorer, django_assert_num_queries):
    found(rated, scorer)  # loads the protocol, which is kept
    for _ in range(2):
        with django_assert_num_queries(4):
            found(rated, scorer)
        for name in "efgh":
            task = factories.rating_task(rated, f"{name}{Score.objects.count()}")
            votes(task, [2, 4])
            score(scorer, task, default=0.4, heard=0.6, audible=0.1)
