"""What sounds, and where it is: through the page's own player, in a real browser."""

from __future__ import annotations

import pytest

from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def at_work(page, begin):
    begin(studies.comparison_study(tasks=1))


def seconds_at(page, clip: str) -> float:
    slider = page.get_by_role("slider", name=f"Position in {clip}")
    return float(slider.get_attribute("aria-valuenow"))


def until_past(page, clip: str, seconds: float) -> None:
    page.wait_for_function(
        "([name, seconds]) => parseFloat(document.querySelector(`[data-clip=${name}] [role=slider]`).ariaValueNow)"
        " >= seconds",
        arg=[clip, seconds],
    )


def playing(page) -> list[str]:
    return page.locator(".clip-row.playing").evaluate_all("rows => rows.map(row => row.dataset.clip)")


def test_only_one_clip_sounds_at_a_time(page, at_work):
    for name, letter in (("Reference clip", "reference"), ("A", "a"), ("B", "b")):
        page.get_by_role("button", name=f"Play {name}", exact=True).click()
        page.get_by_role("button", name=f"Pause {name}", exact=True).wait_for()
        assert playing(page) == [letter]


def test_switching_keeps_the_place(page, at_work):
    page.get_by_role("button", name="Play A", exact=True).click()
    until_past(page, "a", 1)
    page.keyboard.press("s")
    page.get_by_role("button", name="Pause B", exact=True).wait_for()
    until_past(page, "b", 1)
    assert 1 <= seconds_at(page, "B") < 3


def test_the_waveform_is_a_slider_that_says_where_it_is(page, at_work):
    slider = page.get_by_role("slider", name="Position in A")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "0:02 of 0:03"
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0:00 of 0:03"


def test_a_clip_that_has_ended_says_so_and_plays_again_from_its_beginning(page, at_work):
    page.get_by_role("slider", name="Position in A").press("End")
    page.get_by_role("slider", name="Position in A").press("ArrowLeft")
    page.get_by_role("button", name="Play A", exact=True).click()
    page.get_by_text("A has ended, at 0:03.").wait_for()
    page.get_by_role("button", name="Play A", exact=True).click()
    page.get_by_role("button", name="Pause A", exact=True).wait_for()
    assert seconds_at(page, "A") < 2
    page.keyboard.press("Enter")  # the button was clicked, not reached by the keyboard: it is the page's key
    assert page.get_by_role("button", name="Pause A", exact=True).is_visible()
    page.get_by_role("slider", name="Position in A").press("End")
    page.get_by_role("button", name="Play B", exact=True).click()
    page.get_by_role("button", name="Pause B", exact=True).wait_for()
    assert seconds_at(page, "B") < 2


def test_a_clip_that_does_not_load_says_so_and_can_be_tried_again(page, signed_in):
    study = studies.comparison_study(tasks=1)
    signed_in(member(study))
    page.route("**/clips/b/*", lambda route: route.fulfill(status=404, body=""))
    studies.open_work(page, study)
    failure = page.locator("[data-clip=b]").get_by_role("alert")
    failure.get_by_text("could not be loaded").wait_for()
    page.unroute("**/clips/b/*")
    failure.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Pause B", exact=True).wait_for()
    assert not failure.is_visible()


def test_a_link_that_has_ended_is_renewed_without_a_word(page, signed_in):
    study = studies.comparison_study(tasks=1)
    signed_in(member(study))
    ended = iter([True] * 3)

    def end_a_few(route) -> None:
        route.fulfill(status=410, body="") if next(ended, False) else route.continue_()

    page.route("**/clips/**", end_a_few)
    studies.open_work(page, study)
    page.get_by_role("button", name="Play A", exact=True).click()
    until_past(page, "a", 0.3)
    assert not page.get_by_text("could not be loaded").is_visible()


def test_a_recording_is_fetched_only_when_it_is_asked_for(page, signed_in):
    study = studies.rating_study(tasks=1)
    signed_in(member(study))
    fetched = []
    page.on("request", lambda request: fetched.append(request.url) if "/clips/" in request.url else None)
    studies.open_work(page, study)
    page.wait_for_load_state("networkidle")
    assert fetched == []
    page.get_by_role("button", name="Play Recording").click()
    page.get_by_role("button", name="Pause Recording").wait_for()
    until_past(page, "recording", 0.1)
    assert fetched


def test_a_stretch_can_be_repeated_with_keys(page, at_work):
    slider = page.get_by_role("slider", name="Position in A")
    page.keyboard.press("[")
    slider.press("ArrowRight")
    page.keyboard.press("]")
    page.get_by_text("Repeating 0:00 to 0:01").wait_for()
    page.get_by_role("button", name="Play A", exact=True).click()
    page.wait_for_timeout(1300)
    assert playing(page) == ["a"]
    assert seconds_at(page, "A") <= 1.05
    page.keyboard.press("\\")
    until_past(page, "a", 1.5)


def test_it_pauses_when_the_page_is_hidden_and_says_so(page, context, at_work):
    page.get_by_role("button", name="Play A", exact=True).click()
    until_past(page, "a", 0.2)
    page.evaluate(
        "() => { Object.defineProperty(document, 'hidden', {get: () => true, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    page.get_by_text("Paused while this page was in the background").wait_for()
    assert playing(page) == []


def test_a_recording_beside_texts_says_why_it_stopped(page, begin):
    begin(studies.rating_study(tasks=1))
    page.get_by_role("button", name="Play Recording").click()
    until_past(page, "recording", 0.1)
    page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
    page.get_by_text("headphones or speakers were plugged in or out").wait_for()


def test_a_device_that_comes_or_goes_pauses_and_says_so(page, at_work):
    page.get_by_role("button", name="Play A", exact=True).click()
    until_past(page, "a", 0.2)
    page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
    page.get_by_text("headphones or speakers were plugged in or out").wait_for()
    page.get_by_role("button", name="Play A", exact=True).click()
    page.get_by_role("button", name="Pause A", exact=True).wait_for()
    assert not page.get_by_text("headphones or speakers").is_visible()
