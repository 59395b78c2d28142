"""A researcher makes a study, fills it, invites somebody, and sees their judgment counted."""

from __future__ import annotations

import pytest
from django.utils import timezone

from analytics.overview import figures
from annotation.jobs import jobs
from annotation.models import Invitation, Job, Judgment, Study
from tests.analytics.votes import votes
from tests.e2e import studies
from tests.factories import StudyFactory, UserFactory, member, rating_task

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TABLE = b"id,question_text,reference,system,answer\none,What rings?,A bell.,model-1,A gong.\n"
BROKEN = (
    b"item_id,question_text,reference,system,answer,question,value\none,What?,Bell.,m,Gong.,correctness,6\n"
)


@pytest.fixture(autouse=True)
def _home(settings, tmp_path) -> None:
    """Uploads go to the test's own folder; the tests themselves are the worker."""
    settings.HOME = tmp_path


@pytest.fixture
def no_worker(monkeypatch) -> None:
    monkeypatch.setattr(jobs, "_send_message", lambda job_id, kind: None)


def choose_file(page, content: bytes, name: str = "items.csv") -> None:
    page.get_by_label("Files", exact=True).set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}
    )


def make_study(page) -> None:
    page.goto("/")
    page.get_by_role("link", name="New study from files").first.click()
    choose_file(page, TABLE)
    page.get_by_role("button", name="Upload and preview").click()
    page.get_by_role("cell", name="A gong.").wait_for()
    assert page.get_by_label("id", exact=True).input_value() == "item_id"
    page.get_by_label("Title").fill("Bird calls, pilot")
    page.get_by_label("Address").fill("bird-calls-pilot")
    page.get_by_label("Judgments wanted per task").fill("1")
    page.get_by_role("button", name="Make the study").click()


def look_as_raters_do(page) -> None:
    page.get_by_role("link", name="See what raters see").click()
    page.get_by_label("Almost correct").check(force=True)
    studies.submit(page)
    page.get_by_role("heading", name="That is the preview.").wait_for()
    assert not Judgment.objects.exists()
    page.get_by_role("link", name="Back to the study").last.click()


def invite(page) -> str:
    page.get_by_role("link", name="Invite raters").first.click()
    page.get_by_role("button", name="Create a link").click()
    return str(page.get_by_label("The invitation is ready").get_by_role("textbox").input_value())


def join_and_rate(page, link: str) -> None:
    page.goto(link)
    page.get_by_label("Your name").fill("Grace Example")
    page.get_by_label("E-mail address").fill("grace@example.org")
    page.get_by_label("Password").fill("a long and private phrase")
    page.get_by_role("button", name="Create account and join").click()
    studies.open_work(page, Study.objects.get())
    page.get_by_label("Almost correct").check(force=True)
    studies.finish(page)


def test_a_study_from_its_making_to_the_first_judgment(page, browser, live_server, signed_in, no_worker):
    signed_in(UserFactory(may_create_studies=True, name="Rey Searcher"))
    make_study(page)
    page.get_by_text("Waiting for a worker.").wait_for()
    jobs.run(Job.objects.get().pk)
    page.get_by_text("Import finished.").wait_for()  # without a reload
    look_as_raters_do(page)
    page.get_by_role("button", name="Start the study").click()
    link = invite(page)

    rater = browser.new_context(base_url=live_server.url, locale="en")
    try:
        join_and_rate(rater.new_page(), link)
    finally:
        rater.close()

    figures.recompute_figures(Study.objects.get().pk)
    page.get_by_role("link", name="Overview").click()
    page.get_by_text("1 of 1 judgments wanted").wait_for()
    page.get_by_role("heading", name="Every task has the judgments it wants").wait_for()
    assert page.get_by_text(Judgment.objects.get().rater.pseudonym).is_visible()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("The study is closed.").wait_for()


def test_bad_rows_are_listed_and_nothing_is_imported(page, signed_in, no_worker):
    study = StudyFactory(slug="s")
    signed_in(member(study, "admin"))
    page.goto("/studies/s/import/")
    choose_file(page, BROKEN)
    page.get_by_role("button", name="Upload and preview").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("Waiting for a worker.").wait_for()
    jobs.run(Job.objects.get().pk)
    page.get_by_role("heading", name="1 problem").wait_for()
    assert page.get_by_role("cell", name="'6' is not on the scale").is_visible()
    assert not study.tasks.exists()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as CSV").click()
    assert download.value.suggested_filename.endswith(".csv")


def test_a_job_page_follows_its_job_and_then_rests(page, signed_in):
    study = StudyFactory(slug="s")
    signed_in(member(study, "admin"))
    job = Job.objects.create(kind="export", study=study, state="running", params={"format": "csv"})
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/jobs/" in request.url else None)
    page.goto(f"/jobs/{job.pk}/")
    Job.objects.filter(pk=job.pk).update(done=30, total=120)
    page.get_by_text("30 of 120").wait_for()
    page.get_by_role("button", name="Cancel").focus()
    Job.objects.filter(pk=job.pk).update(done=60)
    page.get_by_text("60 of 120").wait_for()
    assert page.get_by_role("button", name="Cancel").evaluate("node => node === document.activeElement")
    Job.objects.filter(pk=job.pk).update(state="cancelled")
    page.get_by_text("Cancelled: nothing was changed.").wait_for()
    seen = len(asked)
    page.wait_for_timeout(2500)
    assert len(asked) == seen


def test_a_job_can_be_followed_by_reloading_without_scripts(browser, live_server, signed_in, context):
    study = StudyFactory(slug="s")
    signed_in(member(study, "admin"))
    job = Job.objects.create(kind="export", study=study, state="running", done=30, total=120)
    plain = browser.new_context(
        base_url=live_server.url, java_script_enabled=False, storage_state=context.storage_state()
    )
    try:
        page = plain.new_page()
        page.goto(f"/jobs/{job.pk}/")
        assert page.get_by_text("30 of 120").is_visible()
        Job.objects.filter(pk=job.pk).update(done=90)
        page.get_by_role("link", name="Reload to see the progress").click()
        assert page.get_by_text("90 of 120").is_visible()
    finally:
        plain.close()


def test_an_address_that_the_person_wrote_is_left_alone(page, signed_in):
    signed_in(UserFactory(may_create_studies=True))
    page.goto("/studies/new/")
    page.get_by_label("Address").fill("mine")
    page.get_by_label("Title").fill("Something else")
    assert page.get_by_label("Address").input_value() == "mine"


def test_the_link_is_copied(page, context, signed_in):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    study = StudyFactory(slug="s")
    rating_task(study, "one")
    signed_in(member(study, "admin"))
    page.goto("/studies/s/people/")
    page.get_by_role("button", name="Create a link").click()
    page.get_by_role("button", name="Copy the link").click()
    page.get_by_text("Copied.").wait_for()
    assert "/join/" in page.evaluate("navigator.clipboard.readText()")
    assert Invitation.objects.count() == 1


def test_the_figures_of_an_import_appear_by_themselves(page, signed_in):
    study = StudyFactory(slug="s", state="draft")
    figures.recompute_figures(study.pk)
    votes(rating_task(study, "one", overlap=2), [1, 2])
    votes(rating_task(study, "two", overlap=2), [5, 5])
    report = {"created": {"items": 2, "tasks": 2, "judgments": 4, "raters": 0}}
    Job.objects.create(kind="import", study=study, state="done", report=report, finished_at=timezone.now())
    signed_in(member(study, "admin"))
    page.goto("/studies/s/")
    page.get_by_text("The figures are being computed.").wait_for()
    figures.recompute_figures(study.pk)
    page.get_by_text("Krippendorff’s alpha, ordinal").wait_for()
    assert not page.get_by_text("as of").get_by_text("UTC").is_visible()


def test_the_live_preview_leaves_the_focus_to_whoever_types(page, signed_in):
    study = StudyFactory(slug="s")
    rating_task(study, "one")
    signed_in(member(study, "researcher"))
    page.goto("/studies/s/questions/")
    task = page.frame_locator('[data-part="preview"]:not(.is-loading)').get_by_label("Almost correct")
    task.wait_for(state="attached")
    title = page.locator('[name="questions.0.title.en"]')
    title.fill("Is it")
    page.get_by_text("Draft saved").wait_for()
    for state in ("attached", "detached"):
        page.locator("iframe.is-loading").wait_for(state=state)
    task.wait_for(state="attached")
    page.keyboard.type(" right?")
    assert title.input_value() == "Is it right?"
