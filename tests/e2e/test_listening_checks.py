"""A rater passes the listening checks before the first task, in a real browser with real sound."""

from __future__ import annotations

import pytest

from annotation.listening import checks as listening_checks
from annotation.models import ListeningCheck
from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study():
    return studies.rating_study(tasks=1)


def open_checks(page, study, *kinds: str, **more) -> None:
    listening_checks.set_check_rules(study, actor=None, require=list(kinds), **more)
    page.goto(f"/studies/{study.slug}/work/")
    page.get_by_role("button", name="Start rating").click()
    page.get_by_role("heading", name="Before you start: your listening").wait_for()
    page.get_by_role("button", name="Begin").click()


def key_at_hand() -> int:
    """What the server holds to be right of the trial at hand."""
    check = ListeningCheck.objects.get(state="open")
    return int(check.trials[listening_checks.n_answered_trials(check)]["key"])


def answer(page, *, right: bool = True) -> None:
    """Play the note and say in which ear it was."""
    play = page.get_by_role("button", name="Play the note")
    play.wait_for()
    key = key_at_hand()
    play.click()
    choice = page.get_by_role("button", name=["Left", "Right"][key if right else 1 - key], exact=True)
    page.wait_for_function("button => !button.disabled", arg=choice.element_handle())
    choice.click()


def test_setting_the_volume_and_telling_left_from_right_lead_to_the_work(page, study, signed_in):
    signed_in(member(study))
    open_checks(page, study, "level", "left_right")
    assert page.get_by_role("button", name="The volume is comfortable").is_disabled()
    page.get_by_role("button", name="Play the noise").click()
    page.get_by_role("button", name="The volume is comfortable").click()
    page.get_by_role("heading", name="The volume is set").wait_for()
    assert page.get_by_text("Please leave the volume of your device as it is").is_visible()
    page.get_by_role("button", name="Next check").click()
    for number in range(1, 5):
        page.locator("[data-part=run-progress]").get_by_text(f"{number} of 4", exact=True).wait_for()
        answer(page)
    page.get_by_role("heading", name="Left and right are where they belong").wait_for()
    assert page.get_by_text("4 of 4 right.").is_visible()
    page.get_by_role("link", name="Go on to the work").click()
    page.wait_for_selector("[data-state=working]")
    stored = ListeningCheck.objects.order_by("started_at").values_list("kind", "state", "n_correct")
    assert list(stored) == [("level", "passed", None), ("left_right", "passed", 4)]


def test_who_fails_hears_what_may_help_and_how_many_tries_are_left(page, study, signed_in):
    signed_in(member(study))
    open_checks(page, study, "left_right")
    for number in range(4):
        page.locator("[data-part=run-progress]").get_by_text(f"{number + 1} of 4", exact=True).wait_for()
        answer(page, right=number > 0)
    page.get_by_role("heading", name="Not quite right").wait_for()
    assert page.get_by_text("3 of 4 right.").is_visible()
    assert page.get_by_text("Tries left today: 2.").is_visible()
    assert page.get_by_role("button", name="Try again").is_visible()
    assert not page.get_by_role("link", name="Go on to the work").is_visible()


def test_three_tones_light_up_in_turn_and_are_answered_by_a_digit_after_they_were_heard(
    page, study, signed_in
):
    signed_in(member(study))
    open_checks(page, study, "antiphase")
    page.get_by_role("button", name="Play the tones").focus()
    page.keyboard.press("1")  # nothing was heard yet
    page.keyboard.press("Enter")
    for place in ("First", "Second", "Third"):
        page.locator(".check-choice.sounding").get_by_text(place).wait_for()
    page.get_by_role("button", name="Play them again").wait_for()
    key = key_at_hand()
    page.keyboard.press(str(key + 1))
    page.get_by_text("2 of 6", exact=True).first.wait_for()
    check = ListeningCheck.objects.get()
    assert [trial["answer"] for trial in check.trials] == [key, *[None] * 5]


def test_a_sound_that_does_not_arrive_is_said_and_can_be_played_again(page, study, signed_in):
    signed_in(member(study))
    page.route("**/sounds/**", lambda route: route.abort())
    open_checks(page, study, "level")
    page.get_by_role("button", name="Play the noise").click()
    page.get_by_role("alert").get_by_text("The sound could not be loaded.").wait_for()
    page.unroute("**/sounds/**")
    page.get_by_role("button", name="Play the noise").click()
    page.get_by_role("button", name="Stop the noise").wait_for()


def test_a_run_goes_on_after_a_reload_where_it_was(page, study, signed_in):
    signed_in(member(study))
    open_checks(page, study, "left_right")
    answer(page)
    page.locator("[data-part=run-progress]").get_by_text("2 of 4", exact=True).wait_for()
    page.reload()
    page.get_by_role("button", name="Begin").click()
    page.locator("[data-part=run-progress]").get_by_text("2 of 4", exact=True).wait_for()


def test_a_check_that_falls_due_in_the_middle_of_work_comes_before_the_next_task(page, begin):
    study = begin(studies.rating_study(tasks=4))
    listening_checks.set_check_rules(study, actor=None, require=["level"])
    checks = page.get_by_role("heading", name="Before you start: your listening")
    for done in range(1, 5):  # those fetched ahead can still be judged
        page.keyboard.press("4")
        page.keyboard.press("Control+Enter")
        checks.or_(page.get_by_text(f"{done} of 4 done", exact=True)).first.wait_for()
        if "/checks/" in page.url:
            break
    checks.wait_for()
