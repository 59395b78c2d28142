"""Spectrograms: where the study shows them, at the rater's wish."""

from __future__ import annotations

import pytest

from annotation.listening import coverage
from tests.e2e import studies

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# The brightest row of the middle column of a picture, from the top.
BRIGHTEST = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(400, 0, 1, 128);
    const light = row => data[4 * row] + data[4 * row + 1] + data[4 * row + 2];
    return [...Array(128).keys()].reduce((best, row) => (light(row) > light(best) ? row : best), 0);
}"""


def open_work(page, begin, *, spectrogram: bool):
    study = studies.comparison_study(tasks=1)
    coverage.set_listening_rules(study, actor=None, spectrogram=spectrogram)
    begin(study)


def test_they_come_by_button_or_key_show_the_clip_and_stay_after_a_reload(page, begin):
    open_work(page, begin, spectrogram=True)
    pictures = page.locator(".spectrogram canvas")
    assert not pictures.first.is_visible()
    with page.expect_response(lambda answer: "/spectrograms/" in answer.url and answer.ok):
        page.get_by_role("button", name="Spectrograms").click()
    assert pictures.first.is_visible()
    page.reload()
    page.wait_for_selector("[data-state=working]")
    assert pictures.first.is_visible()
    page.wait_for_function(
        f"() => [...document.querySelectorAll('.spectrogram canvas')].every(one => ({BRIGHTEST})(one) > 0)"
    )
    rows = [
        page.locator(f"[data-clip={name}] canvas").evaluate(BRIGHTEST) for name in ("reference", "a", "b")
    ]
    assert rows[0] > max(rows[1:])  # 200 Hz lies below 300 and 400
    assert len(set(rows)) == 3
    page.keyboard.press("g")
    assert not pictures.first.is_visible()


def test_nothing_is_fetched_while_they_are_hidden(page, begin):
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/spectrograms/" in request.url else None)
    open_work(page, begin, spectrogram=True)
    page.wait_for_load_state("networkidle")
    assert asked == []


def test_a_study_that_shows_none_has_neither_button_nor_key(page, begin):
    open_work(page, begin, spectrogram=False)
    assert not page.get_by_role("button", name="Spectrograms").is_visible()
    page.keyboard.press("g")
    assert page.locator(".spectrogram").count() == 0
    page.keyboard.press("?")
    assert not page.get_by_role("rowheader", name="Show or hide the spectrograms").is_visible()
