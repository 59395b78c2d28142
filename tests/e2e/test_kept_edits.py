"""What is typed into settings is not lost: neither to another page, nor to a session that has expired."""

from __future__ import annotations

import pytest

from annotation.models import Study
from tests.factories import PASSWORD, StudyFactory, member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_unsaved_edits_come_back_after_other_pages_and_after_signing_in_again(
    page, context, signed_in, settings
):
    study = StudyFactory(slug="s", title="Bird calls")
    signed_in(member(study, "admin", email="ada@example.org"))
    page.goto("/studies/s/settings/")
    page.get_by_label("Title").fill("Bird songs")
    page.get_by_text("Not saved yet.").wait_for()
    contents = page.get_by_role("navigation", name="Settings")
    contents.get_by_role("link", name="Listening", exact=True).click()
    page.get_by_role("heading", name="Listening", exact=True).wait_for()
    assert contents.locator(".has-edits").inner_text() == "General"
    contents.get_by_role("link", name="General").click()
    page.get_by_text("What you entered before is back.").wait_for()
    assert page.get_by_label("Title").input_value() == "Bird songs"

    context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.get_by_role("button", name="Save").click()
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("What you entered before is back.").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Saved.", exact=True).wait_for()
    assert page.get_by_text("Not saved yet.").is_hidden()
    assert Study.objects.get().title == "Bird songs"


def test_what_is_typed_before_the_page_has_its_scripts_counts_as_unsaved(page, signed_in):
    study = StudyFactory(slug="s", title="Bird calls")
    signed_in(member(study, "admin"))
    held = []
    page.route("**/keep_edits*.js", lambda route: held.append(route), times=1)
    page.goto("/studies/s/settings/", wait_until="domcontentloaded")
    page.get_by_label("Title").fill("Bird songs")
    assert page.get_by_text("Not saved yet.").is_hidden()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    page.get_by_text("Not saved yet.").wait_for()
    page.get_by_role("navigation", name="Settings").get_by_role("link", name="Listening", exact=True).click()
    page.get_by_role("heading", name="Listening", exact=True).wait_for()
    page.get_by_role("navigation", name="Settings").get_by_role("link", name="General").click()
    page.get_by_text("What you entered before is back.").wait_for()
    assert page.get_by_label("Title").input_value() == "Bird songs"
