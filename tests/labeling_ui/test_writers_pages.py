"""Writers set up, started and looked at in the browser."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.models import System
from annotation.models.people import Role
from scoring.models import Writer, WritingRun
from scoring.writing import worker, writing_runs
from scoring.writing.kinds import KINDS
from tests import factories
from tests.scoring.writing_doubles import Echo, study_of, texts, use, writer_of

__all__ = ["use"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("use")]

GIVEN = {
    "name": "Qwen explains",
    "backbone": "Qwen/Qwen2.5-Omni-7B",
    "option-max_new_tokens": "300",
    "option-dtype": "auto",
}
OWN_WORDS = b'source = "ours"\n[questions.ask]\nrationale = "Why {question} {reference}"\n'


@pytest.fixture
def study():
    return study_of(["rain", "wind"])


@pytest.fixture
def browser(study) -> Client:
    client = Client()
    client.force_login(factories.member(study, Role.RESEARCHER))
    return client


def at(name: str, study, *rest, **query) -> str:
    return reverse(name, args=[study.slug, *rest], query=query)


def test_first_it_is_chosen_what_is_to_be_written(browser, study):
    shown = browser.get(at("new_writer", study)).text
    assert all(f"?writes={writes}" in shown for writes in KINDS)


def test_a_writer_is_set_up_with_its_settings_and_words(browser, study):
    file = SimpleUploadedFile("own.toml", OWN_WORDS)
    sent = {**GIVEN, "option-listens": "on", "option-prompts": file, "per_minute": "30", "drafts": "on"}
    answer = browser.post(at("new_writer", study, writes="rationale"), sent)
    assert answer.url == at("writers", study)
    writer = Writer.objects.get()
    assert (writer.name, writer.per_minute, writer.drafts, writer.price_in) == (
        "Qwen explains",
        30,
        True,
        None,
    )
    assert writer.options == {"max_new_tokens": 300, "listens": True, "dtype": "auto"}
    assert writer.prompt["source"] == "ours"
    # What is not changed stays, the file too; then the words that come along.
    page = browser.get(at("edit_writer", study, writer.pk))
    assert 'name="option-prompts_kept"' in page.text
    kept = page.context["options"]["prompts_kept"].value()
    browser.post(at("edit_writer", study, writer.pk), {**GIVEN, "option-prompts_kept": kept})
    writer.refresh_from_db()
    assert writer.prompt["source"] == "ours"
    assert (writer.options["listens"], writer.per_minute, writer.drafts) == (False, None, False)
    sent = {**GIVEN, "option-prompts_kept": kept, "plain_words": "on"}
    browser.post(at("edit_writer", study, writer.pk), sent)
    writer.refresh_from_db()
    assert writer.prompt == {}


def test_a_writer_of_answers_names_its_system(browser, study):
    path = at("new_writer", study, writes="answer")
    assert "system" in browser.post(path, GIVEN).context["form"].errors
    browser.post(path, {**GIVEN, "system": "Qwen2.5-Omni-7B"})
    assert System.objects.get(study=study).name == Writer.objects.get().system.name == "Qwen2.5-Omni-7B"


def test_what_cannot_be_set_up_is_said_beside_its_field(browser, study, monkeypatch):
    monkeypatch.setenv("CONCORD_SERVERS", "http://allowed:1/v1")
    words = SimpleUploadedFile("own.toml", b'[questions.ask]\nrationale = "Why {question}"\n')
    sent = {**GIVEN, "backbone": "http://other:2/v1#m", "option-max_new_tokens": "0", "option-prompts": words}
    page = browser.post(at("new_writer", study, writes="rationale"), sent)
    assert "not among the servers" in page.context["form"].errors["backbone"][0]
    assert "must be from 1" in page.context["options"].errors["max_new_tokens"][0]
    assert "must hold {reference}" in page.context["options"].errors["prompts"][0]
    assert not Writer.objects.exists()


def test_a_run_is_started_looked_at_and_published(browser, study):
    writer = writer_of(study, price_out=10.0)
    sent = browser.post(at("start_writer", study, writer.pk), {"strata": ["n=0"], "publishes": ""})
    run = WritingRun.objects.get()
    assert sent.url == reverse("writing_run", args=[run.pk])
    assert run.filter == {"strata": {"n": ["0"]}}
    assert 'hx-trigger="every 2s"' in browser.get(sent.url).text
    assert "under_way" in browser.get(at("writers", study)).context
    worker.work_on_runs()
    shown = browser.get(sent.url).text
    assert "On rain" in shown
    assert "Publish 1 text" in shown
    assert 'hx-trigger="every 2s"' not in shown
    assert texts(study)["rain"] == ""
    browser.post(reverse("publish_run", args=[run.pk]))
    shown = browser.get(sent.url).text
    assert 'hx-trigger="every 2s"' in shown, "until it is published"
    assert reverse("cancel_writing", args=[run.pk]) in shown
    assert "Publish 1 text" not in shown
    worker.work_on_runs()
    assert 'hx-trigger="every 2s"' not in browser.get(sent.url).text
    assert texts(study)["rain"] == "On rain"
    again = browser.post(reverse("publish_run", args=[run.pk]), follow=True)
    assert "Nothing in this run waits to be published." in again.text


def test_what_failed_is_shown_with_its_reason_and_tried_again(browser, use):
    study = study_of(["undecodable"])
    client = Client()
    client.force_login(factories.member(study, Role.RESEARCHER))
    run = writing_runs.request(writer_of(study), actor=None)
    worker.work_on_runs()
    path = reverse("writing_run", args=[run.pk])
    assert "This file is damaged." in client.get(path).text
    rows = client.get(reverse("written_rows", args=[run.pk], query={"fault": "undecodable"}))
    assert [row.pk for row in rows.context["rows"]] == [run.rows.get().pk]
    client.post(reverse("retry_writing", args=[run.pk]))
    run.refresh_from_db()
    assert run.state == "queued"
    client.post(reverse("cancel_writing", args=[run.pk]))
    run.refresh_from_db()
    assert run.state == "cancelled"


def test_one_text_is_left_out(browser, study):
    run = writing_runs.request(writer_of(study), actor=None)
    worker.work_on_runs()
    row = run.rows.order_by("pk").first()
    browser.post(reverse("leave_out_row", args=[run.pk, row.pk]))
    browser.post(reverse("publish_run", args=[run.pk]))
    worker.work_on_runs()
    assert texts(study) == {"rain": "", "wind": "On wind"}


def test_what_a_run_wrote_is_read_a_page_at_a_time(browser, use):
    study = study_of([f"q{n:02}" for n in range(25)])
    client = Client()
    client.force_login(factories.member(study, Role.RESEARCHER))
    use(Echo(at_once=25))
    run = writing_runs.request(writer_of(study), actor=None)
    worker.work_on_runs()
    first = client.get(reverse("written_rows", args=[run.pk]))
    rest = client.get(reverse("written_rows", args=[run.pk], query={"after": first.context["next_after"]}))
    assert (len(first.context["rows"]), len(rest.context["rows"]), rest.context["next_after"]) == (20, 5, 0)


def test_a_file_is_taken_in_whole_or_not_at_all(browser, study):
    bad = SimpleUploadedFile(
        "texts.csv", b"item,field,text\nitem-0,rationale,Drops.\nnowhere,rationale,Air.\n"
    )
    page = browser.post(at("texts_file", study), {"file": bad})
    assert "texts.csv cannot be taken in" in page.text
    assert "row 3, item" in page.text
    assert not WritingRun.objects.exists()
    good = SimpleUploadedFile("texts.csv", b"item,field,text\nitem-0,rationale,Drops.\n")
    browser.post(at("texts_file", study), {"file": good})
    worker.work_on_runs()
    assert texts(study) == {"rain": "Drops.", "wind": ""}


def test_a_retired_writer_can_be_brought_back(browser, study):
    writer = writer_of(study)
    for retired in ("yes", "no"):
        browser.post(at("retire_writer", study, writer.pk), {"retired": retired})
        writer.refresh_from_db()
        assert writer.retired is (retired == "yes")


def test_a_writer_is_found_in_its_own_study_only(browser, study):
    other = writer_of(study_of([]))
    assert browser.get(at("edit_writer", study, other.pk)).status_code == 404
