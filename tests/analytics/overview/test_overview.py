"""The study page's data: counters now, the rest as last computed, always in the same few queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.overview import figures
from analytics.overview.study import Progress, rater_page, study_overview
from annotation.models import Rater, Study
from annotation.rating import judgments, leases
from tests import factories
from tests.analytics.votes import vote, votes
from tests.annotation.importing.answers import rating

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


def test_pages_of_raters_follow_each_other_without_gap_or_repeat(study):
    for number in range(5):
        Rater.objects.create(study=study, pseudonym=f"R-{number}")
    seen, after = [], ""
    while after is not None:
        page = rater_page(study, after=after, limit=2)
        seen += [row.pseudonym for row in page.rows]
        after = page.next_after
    assert seen == [f"R-{number}" for number in range(5)]


def test_raters_of_other_studies_are_not_shown(study):
    factories.rater(factories.StudyFactory())
    assert rater_page(study).rows == ()


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
