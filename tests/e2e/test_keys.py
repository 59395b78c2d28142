"""Keys: listed from one table, changed by the rater, shown wherever the page names them."""

from __future__ import annotations

import pytest

from tests.e2e import studies

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def work(page, begin):
    begin(studies.comparison_study(tasks=1))
    return page


def dialog(page):
    return page.get_by_role("dialog", name="Keys")


def row(page, action: str):
    return dialog(page).get_by_role("row").filter(has=page.get_by_role("rowheader", name=action, exact=True))


def give(page, action: str, key: str) -> None:
    dialog(page).get_by_role("button", name=f"Change the key for: {action}").click()
    page.keyboard.press(key)


def test_the_list_opens_by_its_key_and_names_every_action_of_the_task(work):
    work.keyboard.press("?")
    assert row(work, "Switch to the other piece, keeping the place").locator("kbd").inner_text() == "S"
    assert row(work, "Submit").locator("kbd").inner_text() == "Ctrl ⏎"
    assert row(work, "Choose, in the marked question").locator("kbd").all_inner_texts() == ["A", "B"]
    work.keyboard.press("Escape")
    assert not dialog(work).is_visible()


def test_a_changed_key_works_is_shown_on_the_button_and_is_there_again_after_a_reload(work):
    work.keyboard.press("?")
    give(work, "Submit", "w")
    assert dialog(work).get_by_role("status").inner_text() == "Submit: the key is now W."
    work.keyboard.press("Escape")
    button = work.get_by_role("button", name="Submit")
    for _ in range(2):
        assert button.locator("kbd").inner_text() == "W"
        assert button.get_attribute("aria-keyshortcuts") == "W"
        work.reload()
        work.wait_for_selector("[data-state=working]")
    work.keyboard.press("Control+Enter")
    assert not work.get_by_text("Still missing").is_visible()
    work.keyboard.press("w")
    work.get_by_text("Still missing").wait_for()


def test_a_key_that_is_taken_or_an_answer_is_refused_with_the_reason(work):
    work.keyboard.press("?")
    said = dialog(work).get_by_role("status")
    give(work, "Submit", "m")
    assert said.inner_text() == "That key is already used for: Sound off or on. Press another one."
    work.keyboard.press("a")
    assert said.inner_text() == "That key gives an answer in this study. Press another one."
    work.keyboard.press("Escape")  # leaves the key, not the list
    assert row(work, "Submit").locator("kbd").inner_text() == "Ctrl ⏎"
    assert dialog(work).is_visible()


def test_all_keys_can_be_put_back(work):
    work.keyboard.press("?")
    give(work, "Submit", "w")
    dialog(work).get_by_role("button", name="Reset to defaults").click()
    assert row(work, "Submit").locator("kbd").inner_text() == "Ctrl ⏎"


def test_keys_pressed_alone_can_be_switched_off_and_no_hint_promises_them(work):
    work.get_by_role("button", name="Keys").click()
    dialog(work).get_by_label("Use keys that are pressed alone").uncheck()
    work.keyboard.press("Escape")
    work.locator("h2").first.focus()
    work.keyboard.press("a")
    assert work.locator(".ask input:checked").count() == 0
    assert not work.get_by_role("button", name="Skip…").locator("kbd").is_visible()
    assert work.get_by_role("button", name="Submit").locator("kbd").is_visible()


def test_a_number_with_alt_plays_the_piece_of_that_number(work):
    work.locator(".play[aria-disabled=false]").first.wait_for()  # the instruction comes first
    work.keyboard.press("Alt+2")
    work.get_by_role("button", name="Pause B").wait_for()
    work.keyboard.press("Alt+1")
    work.get_by_role("button", name="Pause A").wait_for()
    assert work.locator(".ask input:checked").count() == 0
