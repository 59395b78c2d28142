"""A rater passes the listening checks before the first task, in a real browser with real sound."""

from __future__ import annotations

import pytest

from annotation.models import ListeningCheck
from annotation.services import listening_checks
from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ORDINALS = ("First", "Second", "Third")


@pytest.fixture
def study():
    return studies.rating_study(tasks=1)


def open_checks(page, study, *kinds: str, **more) -> None:
    listening_checks.set_rules(study, actor=None, require=list(kinds), **more)
    page.goto(f"/studies/{study.slug}/work/")
    page.get_by_role("button", name="Start rating").click()
    page.get_by_role("heading", name="Before you start: your listening").wait_for()
    page.get_by_role("button", name="Begin").click()


def answer_trial(page, *, right: bool = True) -> None:
    """Play the trial at hand and answer it, by what the server holds to be right."""
    check = ListeningCheck.objects.get(state="open")
    key = check.trials[listening_checks.n_answered(check)]["key"]
    page.get_by_role("button", name="Play the tones").click()
    choice = page.get_by_role("button", name=ORDINALS[key if right else (key + 1) % 3])
    page.wait_for_function("button => !button.disabled", arg=choice.element_handle())
    choice.click()


def test_setting_the_volume_and_finding_the_quietest_tone_lead_to_the_work(page, study, signed_in):
    signed_in(member(study))
    open_checks(page, study, "level", "antiphase")
    assert page.get_by_role("button", name="The volume is comfortable").is_disabled()
    page.get_by_role("button", name="Play the noise").click()
    page.get_by_role("button", name="The volume is comfortable").click()
    page.get_by_role("heading", name="The volume is set").wait_for()
    page.get_by_role("button", name="Next check").click()
    for number in range(1, 7):
        page.get_by_text(f"{number} of 6", exact=True).and_(page.locator(":not([role=status])")).wait_for()
        answer_trial(page, right=number != 3)
    page.get_by_role("heading", name="Your headphones work").wait_for()
    assert page.get_by_text("5 of 6 right.").is_visible()
    page.get_by_role("link", name="Go on to the work").click()
    page.wait_for_selector("[data-state=working]")
    stored = ListeningCheck.objects.order_by("started_at").values_list("kind", "state", "n_correct")
    assert list(stored) == [("level", "passed", None), ("antiphase", "passed", 5)]
