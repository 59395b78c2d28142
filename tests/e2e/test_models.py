"""A researcher has a study scored and follows the run, in a real browser and by the keyboard alone where it counts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from scoring.models import ScoringRun
from scoring.runs import worker
from scoring.runs.claims import SCORING
from tests.factories import member
from tests.scoring import doubles, studies

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def _no_worker(monkeypatch) -> None:
    """The test itself is the worker."""
    doubles.register(monkeypatch)
    monkeypatch.setattr(SCORING, "wake", lambda run_id: None)


def test_a_study_is_scored_and_the_page_follows_without_a_reload(page, signed_in):
    study = studies.study_of(["one two", "one two three", "undecodable"])
    signed_in(member(study, "researcher"))
    page.goto(f"/studies/{study.slug}/models/")
    page.get_by_role("link", name="Score this study").click()
    page.get_by_role("link", name="Words").press("Enter")
    page.get_by_label("Version").fill("2")
    page.get_by_label("system-1").check()
    page.get_by_role("button", name="Start the run").press("Enter")
    page.get_by_text("Waiting for a worker.").wait_for()

    run = ScoringRun.objects.get()
    assert (run.options, run.filter) == ({"version": "2"}, {"systems": ["system-1"]})
    worker.work_on_run(run.pk)
    page.get_by_text("2 scored.").wait_for()
    expect(page.get_by_role("img", name="Histogram from 2.000 to 3.000")).to_be_visible()
    page.get_by_role("link", name="Show these rows").press("Enter")
    expect(page.get_by_role("row", name="item-2")).to_contain_text("decoding broke at 0.50 s")

    page.get_by_role("button", name="Retry failed rows").press("Enter")
    page.get_by_text("The failed rows are being retried.").wait_for()
    page.get_by_role("button", name="Cancel").press("Enter")
    page.get_by_text("Stopped. What has been scored stays.").wait_for()
    page.get_by_role("link", name="Models").first.click()
    expect(page.get_by_role("row", name="word-count@")).to_contain_text("2 of 3 candidates")
