"""Listen before the vote, the instruction before the sound, and breaks: as a rater meets them."""

from __future__ import annotations

import time

import pytest

from annotation.models import Judgment, Study
from tests.e2e import studies
from tests.factories import NOTHING_TO_HEAR

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ONE_SECOND_EACH = {"short_seconds": 1, "min_switches": 1}


def at_work(page, begin, *, tasks: int = 1, **rules):
    """A rater before the first pair of a study with these rules."""
    study = studies.comparison_study(tasks=tasks)
    Study.objects.update(rules={"listening": {**NOTHING_TO_HEAR["listening"], **rules}})
    begin(study)
    return study


def meter(page, clip: str):
    return page.locator(f"[data-clip={clip}] .listen-meter")


def hear_both(page) -> None:
    page.get_by_role("button", name="Play A", exact=True).click()
    meter(page, "a").get_by_text("heard enough").wait_for()
    page.keyboard.press("s")
    meter(page, "b").get_by_text("heard enough").wait_for()


def test_a_vote_waits_until_both_were_heard_and_switched_and_says_what_is_missing(page, begin):
    at_work(page, begin, **ONE_SECOND_EACH)
    line = page.locator("[data-part=listen-line]")
    assert line.inner_text() == (
        "Listen to 1 s more of A and 1 s more of B. Switch between the pieces at least once."
    )
    studies.answer_comparison(page)
    studies.submit(page)
    alert = page.get_by_role("alert").get_by_text("Please listen before you decide.")
    assert alert.is_visible()
    assert page.get_by_role("button", name="Play A", exact=True).evaluate(
        "node => node === document.activeElement"
    )
    assert not Judgment.objects.exists()
    hear_both(page)
    assert not alert.is_visible()
    assert line.inner_text().endswith("You have heard enough to decide.")
    studies.finish(page)


def test_the_stored_judgment_tells_how_it_was_listened_to(page, begin):
    at_work(page, begin, **ONE_SECOND_EACH)
    hear_both(page)
    studies.answer_comparison(page)
    studies.finish(page)
    judgment = Judgment.objects.get()
    heard = {
        name: sum(end - start for start, end in spans) for name, spans in judgment.telemetry["heard"].items()
    }
    assert set(heard) == {"a", "b"}
    assert all(0.9 <= seconds <= 3.1 for seconds in heard.values())
    assert judgment.telemetry["switches"] == 1
    assert judgment.telemetry["session_s"] >= 0
    assert judgment.gains == [0.0, 0.0]


def test_what_was_heard_is_not_asked_for_again_after_a_reload(page, begin):
    at_work(page, begin, **ONE_SECOND_EACH)
    hear_both(page)
    page.wait_for_function(
        "() => Object.entries(localStorage).some(([key, draft]) => key.startsWith('concord:draft:')"
        " && (JSON.parse(draft).log?.heard.b ?? []).reduce((sum, [from, to]) => sum + to - from, 0) >= 1)"
    )
    page.reload()
    meter(page, "a").get_by_text("heard enough").wait_for()
    assert meter(page, "b").get_by_text("heard enough").is_visible()
    studies.answer_comparison(page)
    studies.finish(page)


def test_what_the_server_misses_is_said_in_its_words_and_nothing_is_lost(page, begin):
    at_work(page, begin, **ONE_SECOND_EACH)
    hear_both(page)
    Study.objects.update(rules={"listening": {"short_seconds": 10}})
    studies.answer_comparison(page)
    studies.submit(page)
    page.get_by_role("alert").get_by_text("Clip A: heard").wait_for()
    assert page.get_by_label("What did you hear?").input_value() == "B drifts at @0:01."
    assert not Judgment.objects.exists()


# ── The instruction first ────────────────────────────────────────────────────


def test_players_wait_until_the_instruction_has_been_on_screen(page, begin):
    at_work(page, begin, instruction_seconds=2)
    hold = page.locator(".hold")
    assert hold.inner_text().startswith("Read the instruction first: you can play the clips in")
    said = page.locator("[data-part=announcement]")
    assert "Read the instruction first" in said.inner_text()
    page.keyboard.press("Space")
    assert page.locator(".clip-row.playing").count() == 0
    hold.wait_for(state="detached")
    assert said.inner_text() == "You can play the clips now."
    page.get_by_role("button", name="Play A", exact=True).click()
    page.get_by_role("button", name="Pause A", exact=True).wait_for()


def test_an_instruction_that_nobody_can_see_is_not_read(page, begin):
    at_work(page, begin, instruction_seconds=1)
    page.evaluate(
        "Object.defineProperty(document, 'visibilityState', {get: () => window.shown ?? 'hidden', configurable: true})"
    )
    page.wait_for_timeout(1500)
    assert page.locator(".hold").is_visible()
    page.evaluate("window.shown = 'visible'")
    page.locator(".hold").wait_for(state="detached")


# ── Breaks ───────────────────────────────────────────────────────────────────


def worked(page, minutes: float, **state) -> None:
    """As if this browser had been at work for so long."""
    now = time.time() * 1000
    work = {"began": now - minutes * 60_000, "last": now, "prompted": 0, "ask": None, "until": None, **state}
    page.evaluate("work => localStorage.setItem('concord.work', JSON.stringify(work))", work)


def test_a_break_is_suggested_between_two_tasks_and_can_wait_once(page, begin):
    at_work(page, begin, tasks=2)
    worked(page, 26)
    assert page.get_by_role("button", name="Submit").is_visible()  # the task at hand can be finished
    studies.answer_comparison(page)
    studies.submit(page)
    page.get_by_role("heading", name="Time for a break?").wait_for()
    assert page.get_by_text("for 26 minutes without a break").is_visible()
    page.get_by_role("button", name="In five minutes").click()
    page.get_by_text("1 of 2 done", exact=True).wait_for()
    studies.answer_comparison(page)
    studies.finish(page)


def test_whoever_takes_a_break_finds_the_next_task_afterwards(page, begin):
    at_work(page, begin, tasks=1)
    prompt = studies.prompt_shown(page)
    worked(page, 26, prompted=1, ask=1)
    page.reload()
    page.get_by_role("heading", name="Time for a break?").wait_for()
    assert not page.get_by_role("button", name="In five minutes").is_visible()
    page.get_by_role("button", name="Take a break").click()
    page.get_by_role("heading", name="Enjoy your break").wait_for()
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("[data-state=working]")
    assert studies.prompt_shown(page) == prompt


def test_after_long_work_no_task_is_shown_for_a_while_not_even_after_a_reload(page, begin):
    at_work(page, begin, tasks=1)
    worked(page, 46)
    for _ in range(2):
        page.reload()
        page.get_by_role("heading", name="That is enough listening for now").wait_for()
        assert page.get_by_role("button", name="Go on").is_disabled()
    worked(page, 46, until=time.time() * 1000 - 1)
    page.reload()
    page.wait_for_selector("[data-state=working]")
