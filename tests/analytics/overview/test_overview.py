"""The study page's data: counters now, the rest as last computed, always in the same few queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.overview import figures, scorers
from analytics.overview import study as overview_study
from analytics.overview.figures import scan_study
from analytics.overview.study import Progress, study_overview
from annotation.listening.checks import _judgment_times
from annotation.models import Candidate, Item, ItemVersion, Rater, Study
from annotation.rating import judgments, leases
from annotation.review import adjudication
from scoring.models import Score, Scorer, ScoringRun
from scoring.runs import scoring_runs, worker
from tests import factories
from tests.analytics.votes import vote, votes
from tests.annotation.importing.answers import rating
from tests.annotation.importing.desk import corrections, give, judged, people
from tests.factories import StudyFactory
from tests.scoring import doubles, studies

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = factories.StudyFactory(overlap=2)
    for name, system in (("a", "s1"), ("b", "s1"), ("c", "s2")):
        factories.rating_task(study, name, system=system)
    return Study.objects.get(pk=study.pk)


def rate_all(study: Study, value: float, **fields) -> Rater:
    user = factories.member(study)
    while assignment := leases.lease_next(user, study.slug)[1]:
        judgments.submit(user, assignment.id, rating(value, **fields))
    return Rater.objects.get(study=study, user=user)


def test_progress_comes_from_the_counters(study):
    rate_all(study, 4)
    figures.recompute_figures(study.pk)
    assert study_overview(study).progress == Progress(
        items=3, tasks=3, tasks_complete=0, judgments=3, judgments_wanted=6, surplus=0, skips=0, raters=1
    )
    rate_all(study, 2)
    progress = study_overview(study).progress
    assert (progress.tasks_complete, progress.judgments, progress.share) == (3, 6, 1.0)


def test_judgments_of_unnamed_raters_are_progress_too(study):
    vote(study.tasks.first(), 3)
    study.refresh_from_db()
    assert study_overview(study).progress.judgments == 1


def test_before_the_first_computation_it_says_so_and_guesses_nothing(study):
    found = study_overview(study)
    assert (found.computed_at, found.questions, found.codes) == (None, (), ())
    assert (found.progress.judgments_wanted, found.progress.share) == (None, None)


def test_questions_come_with_agreement_histogram_and_systems(study):
    votes(study.tasks.get(external_id="a"), [1, 2])
    votes(study.tasks.get(external_id="c"), [5, 5])
    figures.recompute_figures(study.pk)
    (question,) = study_overview(study).questions
    assert (question.key, question.kind, question.level) == ("correctness", "rating", "ordinal")
    assert question.agreement["ratings"] == 4
    assert question.histogram == (("1", 1), ("2", 1), ("3", 0), ("4", 0), ("5", 2))
    assert [(one.system, one.n, one.mean) for one in question.means] == [("s2", 2, 5.0), ("s1", 2, 1.5)]
    assert question.wins == ()


def test_preferences_come_with_win_rates():
    study = factories.StudyFactory(preset="cmi-pref")
    task = factories.comparison_task(study, "a")
    for choice in (1, 1, 2):
        vote(task, question="alignment", choice=choice)
    figures.recompute_figures(study.pk)
    alignment, musicality = study_overview(study).questions
    assert [(one.system, one.wins, one.losses) for one in alignment.wins] == [
        ("system-1", 2, 1), ("system-2", 1, 2),
    ]  # fmt: skip
    assert (alignment.means, musicality.wins) == ((), ())


def test_codes_are_listed_by_frequency(study):
    for name, codes in (("a", ["R"]), ("b", ["A", "R"]), ("c", [])):
        vote(study.tasks.get(external_id=name), 3, codes=codes)
    figures.recompute_figures(study.pk)
    assert study_overview(study).codes == (("R", 2), ("A", 1))


def test_raters_are_shown_by_pseudonym_with_their_counters(study):
    rater = rate_all(study, 4)
    (row,) = study_overview(study).raters.rows
    assert (row.pseudonym, row.n_judgments, row.n_skips, row.n_surplus) == (rater.pseudonym, 3, 0, 0)
    assert timezone.now() - row.last_judgment_at < timedelta(minutes=1)
    assert not hasattr(row, "user")


def test_pages_of_raters_follow_each_other_without_gap_or_repeat(study, monkeypatch):
    monkeypatch.setattr("analytics.overview.study.RATERS_PER_PAGE", 2)
    for number in range(5):
        Rater.objects.create(study=study, pseudonym=f"R-{number}")
    seen, after = [], ""
    while after is not None:
        page = study_overview(study, raters_after=after).raters
        seen += [row.pseudonym for row in page.rows]
        after = page.next_after
    assert seen == [f"R-{number}" for number in range(5)]


def test_raters_of_other_studies_are_not_shown(study):
    factories.rater(factories.StudyFactory())
    assert study_overview(study).raters.rows == ()


@pytest.mark.parametrize("size", [1, 12])
def test_it_takes_four_queries_whatever_the_size(size, django_assert_num_queries):
    study = factories.StudyFactory(preset="cmi-pref")
    for number in range(size):
        task = factories.comparison_task(study, f"task {number}")
        for choice in (1, 2):
            vote(task, question="alignment", choice=choice, rater=factories.rater(study))
    figures.recompute_figures(study.pk)
    study = Study.objects.get(pk=study.pk)
    with django_assert_num_queries(4):
        study_overview(study)


def test_before_the_first_computation_there_are_no_questions(api, world):
    response = api(world.researcher).get("studies/here/agreement/")
    assert response.json() == {"computed_at": None, "questions": {}}


def test_it_gives_what_is_stored(api, world):
    figures.recompute_figures(world.study.pk)
    found = api(world.admin).get("studies/here/agreement/").json()
    assert list(found["questions"]) == ["alignment", "musicality"]
    assert found["questions"]["alignment"]["ratings"] == 1
    assert found["questions"]["alignment"]["reason"] == "no_pairable_units"
    assert found["computed_at"]


def test_it_never_computes(api, world, monkeypatch):
    figures.recompute_figures(world.study.pk)
    monkeypatch.setattr(figures, "scan_study", lambda study: pytest.fail("computed on a request"))
    assert api(world.researcher).get("studies/here/agreement/").status_code == 200


def test_it_takes_four_queries(api, world, django_assert_num_queries):
    """The account, the membership with its study, and the two that figures.current makes."""
    figures.recompute_figures(world.study.pk)
    researcher = api(world.researcher)
    with django_assert_num_queries(4):
        researcher.get("studies/here/agreement/")


@pytest.mark.parametrize("role", ["annotator", "expert"])
def test_raters_may_not_see_it(api, world, role):
    assert api(getattr(world, role)).get("studies/here/agreement/").status_code == 403


def test_strangers_hear_that_nothing_is_there(api, world, elsewhere):
    assert api(elsewhere.admin).get("studies/here/agreement/").status_code == 404
    assert api(factories.UserFactory()).get("studies/here/agreement/").status_code == 404


def test_nobody_in_particular_is_refused(api, world):
    assert api(None).get("studies/here/agreement/").status_code == 401


@pytest.fixture
def empty_study():
    return factories.StudyFactory(overlap=2)


def test_no_figure_moves_and_no_check_comes_due(empty_study):
    task, expert = (
        factories.rating_task(empty_study, "a"),
        factories.member(empty_study, "expert"),
    )
    for value, user in enumerate(people(empty_study, 2), start=1):
        give(user, task, rating(value))
    before, progress = (
        scan_study(empty_study),
        overview_study._progress(empty_study, judgments_wanted=2),
    )
    one = judged(expert, task)
    assert scan_study(empty_study) == before
    assert overview_study._progress(empty_study, judgments_wanted=2) == progress
    rater = Rater.objects.get(user=expert)
    assert _judgment_times(rater.pk, since=one.created_at) == []


def test_what_is_wanted_and_complete_stays_true_after_a_correction(empty_study):
    task, expert = (
        factories.rating_task(empty_study, "a"),
        factories.member(empty_study, "expert"),
    )
    for user in people(empty_study, 2):
        give(user, task)
    one = judged(expert, task)
    adjudication.correct_item(expert, one.pk, corrections(one))
    empty_study.refresh_from_db()
    wanted = scan_study(empty_study)[1]["judgments_wanted"]
    progress = overview_study._progress(empty_study, judgments_wanted=wanted)
    assert (progress.items, progress.tasks, progress.tasks_complete, progress.judgments) == (1, 1, 0, 0)
    assert wanted == 2


# How many candidates each scorer has scored.


@pytest.fixture(autouse=True)
def word_count(monkeypatch):
    return doubles.register(monkeypatch)


def run(study, **asked) -> ScoringRun:
    asked = {"again": False, "filter": {}} | asked
    made = scoring_runs.request(study, "word-count", {}, actor=None, **asked)
    worker.work_on_run(made.pk)
    return made


def coverage(study) -> list[tuple[int | None, int | None]]:
    found = scorers.scorer_coverage(study)
    return [(row.n_scored, found.n_candidates) for row in found.rows]


def test_what_was_scored_again_counts_once():
    study = studies.study_of(["a bell", "rain", "undecodable"])
    for again in (False, True):
        run(study, again=again, filter={"items": ["item-0"]})
    assert coverage(study) == [(1, 3)]
    run(study)
    assert coverage(study) == [(2, 3)]


def test_only_items_as_they_are_now_count():
    study = studies.study_of(["a bell", "rain", "wind"])
    run(study)
    mended = Item.objects.get(external_id="item-0")
    mended.current_version = ItemVersion.objects.create(
        item=mended, number=2, prompt="two bells", content_sha256="1" * 64
    )
    mended.save()
    before = Candidate.objects.get(item_version__item=mended)
    Candidate.objects.create(item_version=mended.current_version, system=before.system, clip=before.clip)
    assert coverage(study) == [(2, 3)]
    Item.objects.filter(external_id="item-1").update(state=Item.State.WITHDRAWN)
    assert coverage(study) == [(1, 2)]


def test_a_score_of_many_outputs_counts_once_and_each_pair_too():
    study = studies.study_of(["a bell"])
    one = Candidate.objects.get()
    two, three = (studies.add(study, "item-0", "a bell", system=f"system-{n}") for n in (2, 3))
    scorer = Scorer.objects.create(key="pairs", digest="p")
    ScoringRun.objects.create(study=study, scorer=scorer, metric="pairs")
    for other in (two, three):
        for output in ("plain", "wordy"):
            Score.objects.create(scorer=scorer, candidate=one, other=other, output=output, value=0.5)
    assert coverage(study) == [(2, 3)]


def test_another_studys_scores_do_not_count():
    run(studies.study_of(["a bell", "rain"]))
    study = studies.study_of(["wind"])
    ScoringRun.objects.create(study=study, scorer=Scorer.objects.get(), metric="word-count")
    assert coverage(study) == [(0, 1)]


def test_what_is_too_much_to_count_is_left_to_what_the_runs_counted(monkeypatch):
    study = studies.study_of(["a bell", "rain"])
    run(study)
    run(study, again=True)
    monkeypatch.setattr(scorers, "MOST_INDEX_LOOKUPS", 1)
    (row,) = scorers.scorer_coverage(study).rows
    assert (row.n_scored, row.n_run, scorers.scorer_coverage(study).n_candidates) == (None, 4, None)


def test_a_study_without_runs_has_no_scorers(django_assert_num_queries):
    study = StudyFactory()
    with django_assert_num_queries(1):
        assert scorers.scorer_coverage(study).rows == ()
