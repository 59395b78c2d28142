from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from analytics.overview import figures
from annotation.models import Job, Rater, Study
from annotation.studies import members
from labeling_ui.templatetags.formatting import decimals
from tests.analytics.votes import vote, votes
from tests.factories import StudyFactory, comparison_task, member, rater, rating_task

pytestmark = pytest.mark.django_db


def opened(client, user, study: Study, **query) -> str:
    client.force_login(user)
    answer = client.get(reverse("study", args=[study.slug]), query)
    assert answer.status_code == 200
    return answer.text


def fill(study: Study, *, tasks: int, raters: int) -> list[Rater]:
    """Everybody has rated everything, some of them differently."""
    people = [rater(study) for _ in range(raters)]
    for number in range(tasks):
        task = rating_task(study, f"item-{number}", overlap=raters)
        for index, person in enumerate(people):
            vote(task, 1 + (number + (index == 0)) % 5, rater=person, codes=["Q"] if number % 2 else [])
    study.refresh_from_db()
    return people


def test_an_empty_study_asks_for_items_and_shows_no_row_of_zeros(client, admin, study):
    Study.objects.update(state="draft")
    page = opened(client, admin, study)
    assert "Nothing to rate yet: import items" in page
    assert reverse("import", args=["s"]) in page
    assert "judgments wanted" not in page
    assert "Start the study" not in page


def test_a_study_without_raters_asks_to_invite_them(client, admin, study):
    rating_task(study, "one")
    assert "nobody can rate in it yet" in opened(client, admin, study)


def test_a_study_whose_raters_are_invited_waits_for_them(client, admin, study):
    rating_task(study, "one")
    invitation, _token = members.invite(study, role="annotator", actor=admin)
    assert "nobody has joined yet" in opened(client, admin, study)
    type(invitation).objects.update(revoked_at=timezone.now())
    assert "nobody can rate in it yet" in opened(client, admin, study)


def test_progress_counts_judgments_and_complete_tasks(client, admin, study):
    fill(study, tasks=2, raters=2)
    rating_task(study, "open", overlap=4)
    figures.recompute_figures(study.pk)
    context = client_context(client, admin, study)
    assert (context["progress"].judgments, context["progress"].judgments_wanted) == (4, 8)
    assert "of 8 judgments wanted" in opened(client, admin, study)


def client_context(client, user, study):
    client.force_login(user)
    return client.get(reverse("study", args=[study.slug])).context


def test_agreement_comes_with_level_interval_counts_and_time(client, admin, study):
    fill(study, tasks=6, raters=3)
    figures.recompute_figures(study.pk)
    page = opened(client, admin, study)
    stored = study.agreement_figures.get().result
    low, high = stored["ci95"]
    assert decimals(stored["alpha"]) in page
    assert "Krippendorff’s alpha, ordinal" in page
    assert f"95 % interval {decimals(low)} to {decimals(high)}" in page
    assert "as of" in page


def test_without_figures_yet_the_page_says_so_and_looks_again_by_itself(client, admin, study):
    rating_task(study, "one")
    page = opened(client, admin, study)
    assert "The figures are being computed." in page
    assert 'hx-trigger="every 5s"' in page


IMPORTED = {"created": {"items": 1, "tasks": 1, "judgments": 0, "raters": 0}}


def test_an_import_that_the_figures_do_not_know_yet_is_waited_for(client, admin, study):
    Study.objects.update(state="draft")
    figures.recompute_figures(study.pk)
    votes(rating_task(study, "one", overlap=2), [1, 2])
    job = Job.objects.create(
        kind="import", study=study, state="done", report=IMPORTED, finished_at=timezone.now()
    )
    page = opened(client, admin, study)
    assert "The figures are being computed." in page
    assert "There are no ratings yet" not in page
    assert "of 0 judgments wanted" not in page
    Job.objects.filter(pk=job.pk).update(finished_at=timezone.now() - timedelta(minutes=10))
    assert "The figures are being computed." not in opened(client, admin, study)


def test_a_trial_import_keeps_nobody_waiting(client, admin, study):
    figures.recompute_figures(study.pk)
    report = {"tasks": 3, "dry_run": True}
    Job.objects.create(kind="import", study=study, state="done", report=report, finished_at=timezone.now())
    assert "The figures are being computed." not in opened(client, admin, study)


@pytest.mark.parametrize(("state", "follows"), [("running", True), ("paused", False), ("closed", False)])
def test_the_page_follows_a_running_study_by_itself(client, admin, study, state, follows):
    rating_task(study, "one")
    Study.objects.update(state=state)
    figures.recompute_figures(study.pk)
    assert ('hx-trigger="every 20s"' in opened(client, admin, study)) is follows


def test_undefined_agreement_says_why(client, admin, study):
    votes(rating_task(study, "one", overlap=3), [3, 3, 3])
    figures.recompute_figures(study.pk)
    assert "agreement cannot be told from chance" in opened(client, admin, study)


def test_an_imported_archive_without_named_raters_reads_sensibly(client, admin, study):
    for number in range(3):
        votes(rating_task(study, f"item-{number}", overlap=2), [1 + number, 2 + number])
    Study.objects.update(state="draft", n_unnamed_tasks_filled=3)
    figures.recompute_figures(study.pk)
    page = opened(client, admin, study)
    assert "Every task has the judgments it wants" in page
    assert "6 imported judgments do not name their rater." in page
    assert "not named" in page
    assert "Nobody rates here yet" not in page


def test_ratings_are_shown_as_a_table_that_draws_its_numbers(client, admin, study):
    votes(rating_task(study, "one", overlap=4, system="model-x"), [1, 1, 5, 4])
    figures.recompute_figures(study.pk)
    page = opened(client, admin, study)
    assert '<th scope="row">1 · Not correct</th>' in page
    assert '<rect class="fill" width="50%"' in page
    assert "model-x" in page
    assert "2.75" in page


def test_comparisons_show_how_often_each_system_won(client, admin):
    study = StudyFactory(preset="cmi-pref", slug="pairs")
    boss = member(study, "admin")
    for number, choice in enumerate([1, 1, 1, 2]):
        vote(comparison_task(study, f"pair-{number}"), question="alignment", choice=choice)
    figures.recompute_figures(study.pk)
    page = opened(client, boss, study)
    assert "75.0\u00a0%" in page
    assert "25.0\u00a0%" in page


def test_codes_are_counted_with_their_titles(client, admin, study):
    fill(study, tasks=4, raters=2)
    figures.recompute_figures(study.pk)
    assert "Q · Incomplete question" in opened(client, admin, study)


def test_whoever_runs_the_study_reads_the_name_beside_the_pseudonym(client, admin, study):
    person = member(study, name="Grace Example", email="grace@example.org")
    page = opened(client, admin, study)
    assert Rater.objects.get(user=person).pseudonym in page
    assert "Grace Example" in page
    assert "grace@" not in page


def test_many_raters_come_in_pages(client, admin, study):
    Rater.objects.bulk_create(Rater(study=study, pseudonym=f"R-{number:03}") for number in range(51))
    first = opened(client, admin, study)
    assert "R-049" in first
    assert "R-050" not in first
    assert "raters_after=R-049" in first
    assert "R-050" in opened(client, admin, study, raters_after="R-049")


def test_an_unfinished_import_comes_first(client, admin, study):
    job = Job.objects.create(kind="import", study=study, state="running")
    page = opened(client, admin, study)
    assert "An import is under way" in page
    assert reverse("job", args=[job.pk]) in page


@pytest.mark.parametrize(("tasks", "raters"), [(1, 1), (12, 8)])
def test_opening_the_page_costs_the_same_however_large_the_study(
    client, admin, study, tasks, raters, django_assert_num_queries
):
    fill(study, tasks=tasks, raters=raters)
    figures.recompute_figures(study.pk)
    for _ in range(raters):
        Job.objects.create(kind="export", study=study, state="done")
    opened(client, admin, study)
    with django_assert_num_queries(10):
        opened_again = client.get(reverse("study", args=["s"]))
    assert opened_again.status_code == 200


def test_the_state_moves_and_the_page_says_what_that_means(signed_in, study):
    rating_task(study, "one")
    for state in ("paused", "running", "closed", "running"):
        answer = signed_in.post(reverse("study_state", args=["s"]), {"state": state}, follow=True)
        study.refresh_from_db()
        assert study.state == state
        assert len(answer.context["messages"]) == 1


@pytest.mark.parametrize("state", ["draft", "open", ""])
def test_a_state_that_cannot_follow_is_refused_in_words(signed_in, study, state):
    answer = signed_in.post(reverse("study_state", args=["s"]), {"state": state}, follow=True)
    study.refresh_from_db()
    assert study.state == "running"
    assert [message.level_tag for message in answer.context["messages"]] == ["error"]


def test_an_empty_study_cannot_be_started(signed_in):
    Study.objects.update(state="draft")
    answer = signed_in.post(reverse("study_state", args=["s"]), {"state": "running"}, follow=True)
    assert "import items first" in answer.text
