"""What sounds, and where it is."""

from __future__ import annotations

import pytest

from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WATCH = """
window.sounds = [];
const create = window.Audio;
window.Audio = function () { const audio = new create(); window.sounds.push(audio); return audio; };
"""
PLAYING = "window.sounds.filter(sound => !sound.paused).map(sound => sound.src.split('/').at(-2))"


@pytest.fixture
def at_work(page, signed_in):
    study = studies.comparison_study(tasks=1)
    signed_in(member(study))
    page.add_init_script(WATCH)
    studies.open_work(page, study)


def until(page, expression: str) -> None:
    page.wait_for_function(f"() => {expression}")


def test_only_one_clip_sounds_at_a_time(page, at_work):
    for name, letter in (("Reference clip", "reference"), ("A", "a"), ("B", "b")):
        page.get_by_role("button", name=f"Play {name}", exact=True).click()
        until(page, f"{PLAYING}.join() === '{letter}'")


def test_switching_keeps_the_place(page, at_work):
    page.get_by_role("slider", name="Position in A").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Play A", exact=True).click()
    until(page, "window.sounds[1].currentTime > 1.2")
    page.keyboard.press("s")
    until(page, f"{PLAYING}.join() === 'b'")
    left, reached = page.evaluate("[window.sounds[1].currentTime, window.sounds[2].currentTime]")
    assert reached >= left > 1


def test_the_waveform_is_a_slider_that_says_where_it_is(page, at_work):
    slider = page.get_by_role("slider", name="Position in A")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "0:02 of 0:03"
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0:00 of 0:03"


def test_a_clip_that_does_not_load_says_so_and_can_be_tried_again(page, signed_in):
    study = studies.comparison_study(tasks=1)
    signed_in(member(study))
    page.route("**/clips/b/", lambda route: route.abort())
    studies.open_work(page, study)
    failure = page.locator("[data-clip=b]").get_by_role("alert")
    failure.get_by_text("could not be loaded").wait_for()
    page.unroute("**/clips/b/")
    failure.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Pause B", exact=True).wait_for()
    assert not failure.is_visible()


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
    assert fetched
