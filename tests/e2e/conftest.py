"""A real browser against a live server. Sessions come from the sign-in form only where a test is about it."""

from __future__ import annotations

import functools
import mimetypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client

from annotation.models import Study, User
from tests.e2e import studies, votes
from tests.factories import member

QUICK_CHROMIUM = Path(__file__).with_name("chromium.sh")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@functools.cache
def _static_file(path: str) -> tuple[bytes, str]:
    found = finders.find(path)
    if found is None:
        raise Http404(path)
    return Path(found).read_bytes(), mimetypes.guess_type(path)[0] or "application/octet-stream"


def _serve(handler: StaticFilesHandler, request: HttpRequest) -> HttpResponse:
    body, kind = _static_file(handler.file_path(request.path))
    return HttpResponse(body, content_type=kind, headers={"Cache-Control": "max-age=3600"})


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_asked_for_once() -> Iterator[None]:
    """By each window, as in production, where they are kept for ever."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StaticFilesHandler, "serve", _serve)
        yield


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator:
    from playwright.sync_api import sync_playwright

    # Playwright runs an event loop in this thread, and the tests look into the database from it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        environment = {**os.environ, "CONCORD_CHROMIUM": chromium}
        browser = playwright.chromium.launch(executable_path=QUICK_CHROMIUM, env=environment, args=FLAGS)
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def context(browser, live_server) -> Iterator:
    context = browser.new_context(
        base_url=live_server.url, viewport={"width": 1280, "height": 900}, locale="en"
    )
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(context) -> Iterator:
    """A tab in which no script may fail and nothing may break the content security policy."""
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console",
        lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None,
    )
    yield page
    assert faults == []


@pytest.fixture
def looked_at(page):
    """A page used on a telephone; `check_widths` looks at it on a wide screen too."""
    page.set_viewport_size({"width": 390, "height": 844})
    return page


@pytest.fixture
def signed_in(context, live_server) -> Callable[[User], None]:
    """Give the browser the session of an account, without the form."""

    def sign_in(user: User) -> None:
        client = Client()
        client.force_login(user)
        cookie = client.cookies[django_settings.SESSION_COOKIE_NAME]
        context.add_cookies(
            [{"name": cookie.key, "value": cookie.value, "url": live_server.url, "httpOnly": True}]
        )

    return sign_in


@pytest.fixture
def begin(page, signed_in) -> Callable[[Study], Study]:
    """Sign in as a new rater of a study, and go through its guidelines to the first task."""

    def open_first_task(study: Study) -> Study:
        signed_in(member(study))
        studies.open_work(page, study)
        return study

    return open_first_task


@pytest.fixture
def study() -> Study:
    return votes.text_study(tasks=3)


@pytest.fixture
def at_work(page, signed_in, study) -> str:
    """A rater with a task answered but not sent; its question."""
    signed_in(member(study, email="ada@example.org"))
    studies.open_work(page, study)
    votes.answer(page)
    return votes.question_shown(page)
