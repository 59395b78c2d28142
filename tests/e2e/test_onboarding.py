"""A rater walks the whole path on a narrow screen by keyboard, from consent through training to the first task; axe
finds nothing serious on the way."""

from __future__ import annotations

import pytest

from annotation.checks import keys
from annotation.checks.expected import ExpectedAnswer
from annotation.onboarding import consent, onboarding_settings
from tests.e2e import studies
from tests.e2e.test_accessibility import check, check_widths
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AGE = {
    "key": "age",
    "texts": {"en": "How old are you?"},
    "required": True,
    "options": [{"key": key, "texts": {"en": key.title()}} for key in ("young", "old")],
}


@pytest.fixture
def study():
    study = studies.rating_study(tasks=2)
    task = study.tasks.order_by("pk").first()
    expected = [ExpectedAnswer("correctness", "5", tolerance=1, explanation={"en": "A bell is heard."})]
    keys.set_gold(study, task, expected, actor=None, kind="training")
    consent.publish_version(
        study, texts={"en": "We store **your votes**."}, reconsent="everybody", actor=None
    )
    return onboarding_settings.set_onboarding(
        study,
        actor=None,
        consent=True,
        guidelines=True,
        questions=[AGE],
        training={"required": True, "pass_mark": 1},
    )


def press(page, role: str, name: str) -> None:
    page.get_by_role(role, name=name).focus()
    page.keyboard.press("Enter")


def test_the_path_by_keyboard(looked_at, signed_in, study):
    page = looked_at
    signed_in(member(study))
    page.goto(f"/studies/{study.slug}/work/")
    page.get_by_role("heading", name="Do you want to take part?").wait_for()
    check(page)
    press(page, "button", "I agree and take part")
    page.get_by_label("Young").focus()
    page.keyboard.press("Space")
    check(page, ("light",))
    press(page, "button", "Save and continue")
    press(page, "link", "Open the guidelines")
    press(page, "button", "Start rating")
    page.get_by_role("heading", name="Practise first").wait_for()
    check(page, ("light",))
    press(page, "button", "Start training")
    page.wait_for_selector("[data-state=working]")
    assert page.get_by_text("Training task 1 of 1.").is_visible()
    assert page.get_by_role("button", name="Skip…").is_hidden()
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    page.get_by_text("A bell is heard.").wait_for()
    check(page)
    page.keyboard.press("Enter")  # failed: back to the steps, with the attempts that are left
    page.get_by_role("heading", name="Not passed yet: try again").wait_for()
    press(page, "button", "Start training")
    page.wait_for_selector("[data-state=working]")
    page.keyboard.press("5")
    page.keyboard.press("Control+Enter")
    page.get_by_text("You passed the training").wait_for()
    page.keyboard.press("Enter")
    page.get_by_text("0 of 1 done", exact=True).wait_for()
    assert page.get_by_text("Training task").is_hidden()


def test_setting_it_up(looked_at, signed_in, study):
    signed_in(member(study, "researcher"))
    for address in ("", "preview/", f"training/{study.tasks.order_by('pk').first().pk}/"):
        looked_at.goto(f"/studies/{study.slug}/settings/before-rating/{address}")
        check_widths(looked_at)
