"""A participant of Prolific on a telephone: from the link to the completion code, by touch and by keyboard."""

from __future__ import annotations

import pytest

from annotation.models import Judgment, Place, Study
from annotation.panels import links
from tests.e2e import votes
from tests.e2e.test_accessibility import check

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def link(study: Study) -> str:
    """The address that Prolific's participants open."""
    made = links.create_link(
        study, actor=None, name="Prolific", panel="prolific", batch_size=2, completed_code="C1DONE"
    )
    return f"/take-part/{made.token}/?PROLIFIC_PID=5f1a0c2b3d4e5f6a7b8c9d0e&STUDY_ID=st&SESSION_ID=se"


@pytest.fixture
def telephone(browser, live_server):
    context = browser.new_context(
        base_url=live_server.url, viewport={"width": 390, "height": 844}, locale="zh-CN", has_touch=True
    )
    context.set_default_timeout(10_000)
    yield context.new_page()
    context.close()


def test_a_participant_goes_from_the_link_to_the_code_by_touch_and_by_keyboard(telephone, link):
    page = telephone
    page.goto(link)
    page.get_by_role("heading", name="Answers").wait_for()
    assert page.get_by_text("您将逐个评判 2 个任务。").is_visible()
    check(page)
    page.get_by_role("button", name="English").tap()
    page.get_by_role("button", name="Begin").tap()
    page.get_by_role("button", name="Start rating").tap()
    page.wait_for_selector("[data-state=working]")
    assert page.get_by_text("0 of 2 done", exact=True).is_visible()
    question = votes.question_shown(page)
    votes.answer(page)
    page.get_by_role("button", name="Submit").tap()
    votes.goes_on(page, question)
    page.get_by_role("button", name="Stop for now").tap()
    page.get_by_role("heading", name="A pause").wait_for()
    assert page.get_by_text("1 of 2 tasks are done.").is_visible()
    check(page)
    page.get_by_role("link", name="Go on").press("Enter")
    page.wait_for_selector("[data-state=working]")
    votes.answer(page)
    page.get_by_role("button", name="Submit").press("Enter")
    page.get_by_role("heading", name="Thank you. You are done.").wait_for()
    assert page.get_by_role("textbox", name="Your code").input_value() == "C1DONE"
    back = page.get_by_role("link", name="Back to Prolific")
    assert back.get_attribute("href") == "https://app.prolific.com/submissions/complete?cc=C1DONE"
    check(page)
    assert (Judgment.objects.count(), Place.objects.get().state) == (2, Place.State.COMPLETED)
