"""The tables of a study's data as pages: rows that play and link, filters in the address, files of what is filtered."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from analytics.models import QualitySweep, SummarySweep
from annotation.models import Answer, Question, Rater, SavedView
from annotation.models.people import Role
from annotation.studies import protocols
from tests import every_kind, factories
from tests.analytics.votes import vote
from tests.factories import StudyFactory, comparison_task, member, rater

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return StudyFactory(slug="s", preset="cmi-pref", overlap=3)


@pytest.fixture
def page(client, study):
    """`page(path)`: what a researcher sees."""
    client.force_login(member(study, Role.RESEARCHER))
    task = comparison_task(study, "bell")
    comparison_task(study, "dog")
    vote(task, choice=1, question="alignment", rater=rater(study), comment="=A is better")

    def get(path: str):
        return client.get(f"/studies/s/data/{path}")

    return get


def test_a_row_shows_what_is_judged_and_plays_it(page, study):
    task = study.tasks.get(external_id="bell")
    answer = page("tasks/?text=bell").text
    assert "Prompt of bell" in answer
    assert f"/api/v1/studies/s/tasks/{task.pk}/clips/" in answer
    assert f'href="/studies/s/items/{task.item_version.item_id}/"' in answer
    assert "Prompt of dog" not in answer
    assert "Remove the filter" in answer


def test_ticked_options_are_counted_where_the_first_question_has_several_answers(client):
    study = StudyFactory(slug="boxes", overlap=3)
    flaws = next(one for one in every_kind.QUESTIONS if one["kind"] == "choices")
    definition = every_kind.every_kind(questions=[{**flaws, "per_candidate": False}])
    protocols.add_protocol_version(study, definition=definition, actor=None)
    candidates = [(f"system-{n}", {"clip": factories.clip(f"boxes-{n}")}) for n in range(2)]
    task = factories._task(study, "bell", candidates, None, {"prompt": "A bell"})
    question = Question.objects.get(protocol_version=study.protocol_version)
    for selected in ([1], [1, 3], []):
        Answer.objects.create(
            judgment=vote(task), task=task, question=question, selected=selected, counted=True
        )
    client.force_login(member(study, Role.RESEARCHER))
    for table in ("items", "tasks"):
        answer = client.get(f"/studies/boxes/data/{table}/?columns=name,votes").text
        assert "Noise ×2 · Silence ×1" in answer


def test_judgments_say_who_answered_what(page):
    answer = page("judgments/").text
    assert Rater.objects.get().pseudonym in answer
    assert "A = system-1" in answer
    assert "=A is better" in answer


@pytest.mark.parametrize("table", ["items", "tasks", "judgments"])
def test_a_page_takes_a_bounded_number_of_queries(page, study, table, django_assert_max_num_queries):
    page(f"{table}/")
    # The most a page does itself: a minute later, after votes that no sweep has seen.
    for sweep in (SummarySweep, QualitySweep):
        sweep.objects.update(swept_at=timezone.now() - timedelta(minutes=1), seen={})
    with django_assert_max_num_queries(52):
        assert page(f"{table}/").status_code == 200


def test_filters_that_make_no_sense_are_said_beside_the_table(page):
    answer = page("tasks/?disagreement.min=much&kind=strange")
    assert answer.status_code == 200
    assert "is no number" in answer.text
    assert "There is no “strange”" in answer.text


def test_filters_are_refused_in_the_readers_language(page, client):
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-hans"
    assert "“much”不是数字" in page("tasks/?disagreement.min=much").text


def test_the_file_has_what_is_filtered_and_no_formulas(page):
    answer = page("judgments/file.csv?columns=name,rater,comment")
    lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()
    assert lines[0] == "id,name,rater,comment"
    assert lines[1].endswith(",'=A is better")
    assert len(lines) == 2
    nothing = b"".join(page("judgments/file.csv?comment=whale").streaming_content)
    assert nothing.decode("utf-8-sig").count("\n") == 1


def test_rows_are_counted_beside_the_page(page):
    assert page("tasks/count/").text == "2 tasks"
    assert page("judgments/count/?status=excluded").text == "0 judgments"


def test_empty_tables_say_what_will_be_here(client):
    study = StudyFactory(slug="empty")
    client.force_login(member(study, Role.RESEARCHER))
    assert "Import items" in client.get("/studies/empty/data/").text
    assert "Invite raters" in client.get("/studies/empty/data/judgments/").text
    assert client.get("/studies/empty/data/nothing/").status_code == 404


def change(client, table: str, **values):
    return client.post(f"/studies/s/data/{table}/change/", values, follow=True)


def test_chosen_judgments_are_excluded_and_everything_that_matches_restored(page, client, study):
    page("judgments/")
    judgment = study.tasks.get(external_id="bell").judgments.get()
    answer = change(client, "judgments", ids=judgment.pk, action="exclude", reason="careless")
    assert "1 row is changed." in answer.text
    assert page("judgments/count/?status=excluded").text == "1 judgment"
    change(client, "judgments", scope="all", query="status=excluded", action="restore", reason="mistake")
    assert page("judgments/count/?status=excluded").text == "0 judgments"


def test_a_change_without_what_it_needs_changes_nothing(page, client, study):
    page("tasks/")
    assert "Choose some rows first." in change(client, "tasks", action="review").text
    task = study.tasks.first()
    assert "nothing was changed" in change(client, "tasks", ids=task.pk, action="withdraw").text
    assert page("tasks/count/?state=withdrawn").text == "0 tasks"


def test_a_view_keeps_filters_and_columns_and_is_a_tables_own(page, client, study):
    page("tasks/")
    asked = "sort=-disagreement&columns=name%2Cvotes&disagreement.min=0.5"
    client.post("/studies/s/data/tasks/views/", {"name": "Disputed", "shared": "on", "query": asked})
    view = SavedView.objects.get()
    assert (view.page, view.shared) == ("tasks", True)
    shown = page("tasks/").text
    assert "Disputed" in shown
    assert "sort=-disagreement" in shown
    assert "Disputed" not in page("judgments/").text
    client.post(f"/studies/s/data/tasks/views/{view.pk}/remove/")
    assert not SavedView.objects.exists()


def test_numbers_in_a_file_have_their_sign(page, study):
    vote(study.tasks.get(external_id="dog"), choice=2, question="alignment")
    lines = page("tasks/file.csv?columns=name,mean&judgments.min=1").getvalue().decode().splitlines()
    assert [line.rpartition(",")[2] for line in lines[1:]] == ["1.0", "-1.0"]
