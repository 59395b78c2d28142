"""Answers without sound: a study that opens at once, for tests of what becomes of a vote."""

from __future__ import annotations

import json

from playwright.sync_api import BrowserContext, Locator, Page, Route

from annotation.models import Judgment, Study
from tests import factories
from tests.e2e import studies

VOTES = "**/judgment/"
NEXT = "**/next/"
PROBLEM = "application/problem+json"


def text_study(tasks: int = 3, *, slug: str = "answers") -> Study:
    """An `orca` study of text answers, listed in order."""
    study = factories.StudyFactory(slug=slug, title="Answers", overlap=1, order=Study.Order.LISTED)
    for number in range(tasks):
        factories.rating_task(study, f"task-{number}", question=f"Question number {number}?")
    return study


def answer(page: Page, *, comment: str = "Nearly.") -> None:
    page.get_by_label("Almost correct").check(force=True)
    page.get_by_label("Comment").fill(comment)


def question_shown(page: Page) -> str:
    return studies.prompt_shown(page)


def is_still_here(page: Page, question: str, *, comment: str = "Nearly.") -> bool:
    """The page shows the same task with its answers."""
    rated = page.get_by_label("Almost correct").is_checked()
    return (
        question_shown(page) == question and rated and page.get_by_label("Comment").input_value() == comment
    )


def goes_on(page: Page, question: str) -> None:
    """Wait until the page shows another task than this one."""
    page.wait_for_function(
        "was => document.querySelector('.given .headline')?.innerText !== was", arg=question
    )


def arrives(page: Page, question: str, *, n: int = 1) -> None:
    goes_on(page, question)
    assert Judgment.objects.count() == n


def problem(status: int, code: str, **headers: str):
    """An answer in the server's own words."""
    body = {"title": code, "status": status, "detail": f"This is {code}.", "errors": []}
    return lambda route: route.fulfill(
        status=status,
        body=json.dumps(body),
        content_type=PROBLEM,
        headers={"content-type": PROBLEM, **headers},
    )


def page_of(status: int, html: str = "<h1>Welcome</h1>", **headers: str):
    """Somebody else's page in the server's place."""
    return lambda route: route.fulfill(
        status=status, body=html, headers={"content-type": "text/html", **headers}
    )


def cut(route: Route) -> None:
    route.abort("connectionfailed")


def tab(context: BrowserContext, study: Study) -> Page:
    """Another tab at work in a study whose guidelines were read before."""
    page = context.new_page()
    page.goto(f"/studies/{study.slug}/work/")
    return page


def chip(page: Page) -> Locator:
    return page.get_by_role("status").get_by_role("button")


def send_again(page: Page) -> None:
    page.get_by_role("alert").get_by_role("button", name="Send now").click()
