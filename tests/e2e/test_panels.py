"""A participant of Prolific on a telephone: from the link through consent, questions, guidelines and training to the
completion code, by touch and by keyboard, in English and in Chinese; axe finds nothing serious on the way."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from django.utils.translation import gettext, override
from playwright.sync_api import Locator, Page

from annotation.checks import keys
from annotation.checks.expected import ExpectedAnswer
from annotation.checks.settings import set_injection
from annotation.models import Judgment, Place, Task
from annotation.onboarding import consent, onboarding_settings
from annotation.panels import links
from tests.e2e import votes
from tests.e2e.test_accessibility import SIDEWAYS, check

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CHINESE = "zh-hans"
AGE = {
    "key": "age",
    "texts": {"en": "How old are you?", CHINESE: "您的年龄？"},
    "required": True,
    "options": [
        {"key": "young", "texts": {"en": "Young", CHINESE: "年轻"}},
        {"key": "old", "texts": {"en": "Old", CHINESE: "年长"}},
    ],
}
WHY = {"en": "A bell is heard.", CHINESE: "可以听到铃声。"}


@pytest.fixture
def link() -> str:
    """The address that Prolific's participants open, of a study with every step that needs no sound."""
    study = votes.text_study(tasks=5)
    training, gold, *_regular = study.tasks.order_by("pk")
    expected = ExpectedAnswer("correctness", "5", tolerance=1, explanation=WHY)
    keys.set_gold(study, training, [expected], actor=None, kind="training")
    keys.set_gold(study, gold, [expected], actor=None)
    text = {"en": "We store **your answers**.", CHINESE: "我们存储**您的回答**。"}
    consent.publish_version(study, texts=text, reconsent="everybody", actor=None)
    onboarding_settings.set_onboarding(
        study,
        actor=None,
        consent=True,
        guidelines=True,
        questions=[AGE],
        training={"required": True, "pass_mark": 1},
    )
    set_injection(study, actor=None, gold=0.5, least_between=1, most_between=1)
    made = links.create_link(
        study, actor=None, name="Prolific", panel="prolific", batch_size=2, completed_code="C1DONE"
    )
    return f"/take-part/{made.token}/?PROLIFIC_PID=5f1a0c2b3d4e5f6a7b8c9d0e&STUDY_ID=st&SESSION_ID=se"


@pytest.fixture(scope="module")
def window(browser, live_server):
    """One for all walks: what loads the pages' scripts once is no longer than a walk."""
    context = browser.new_context(
        base_url=live_server.url, viewport={"width": 390, "height": 844}, locale="zh-CN", has_touch=True
    )
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def telephone(window):
    window.clear_cookies()
    page = window.new_page()
    yield page
    page.close()


@dataclass(frozen=True)
class Visitor:
    """Somebody who reads one language and either taps or presses keys."""

    page: Page
    language: str
    taps: bool

    def find(self, role: str, name: str) -> Locator:
        """What has this name, given in English, on a page in the language of this visitor."""
        with override(self.language):
            return self.page.get_by_role(role, name=gettext(name), exact=True)

    def press(self, target: Locator, key: str = "Enter") -> None:
        if self.taps:
            return target.tap()
        self.tab_to(target)
        return self.page.keyboard.press(key)

    def tab_to(self, target: Locator) -> None:
        """By the Tab key alone, to a place that shows that it has the focus."""
        target.wait_for()
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if target.evaluate("each => each === document.activeElement"):
                assert target.evaluate("each => each.matches(':focus-visible')")
                return
        raise AssertionError(f"the Tab key does not lead to {target}")

    def look(self, schemes: tuple[str, ...] = ("light", "dark")) -> None:
        """At every page once: its look depends neither on the hand that works on it nor, but for its width, on the
        language. Work and guidelines are looked at in `test_accessibility`."""
        if self.taps and self.language == "en":
            check(self.page, schemes)
        assert not self.page.evaluate(SIDEWAYS)

    def answer(self, value: int) -> None:
        """A rating from 1 to 5, sent."""
        self.page.wait_for_selector("[data-state=working]")
        if self.taps:
            self.page.locator(".option").nth(value - 1).tap()
            self.page.locator("[data-part=submit]").tap()
        else:
            self.page.keyboard.press(str(value))
            self.page.keyboard.press("Control+Enter")


def before_rating(visitor: Visitor) -> None:
    """Consent, a question about the rater, and the guidelines."""
    page = visitor.page
    visitor.find("heading", "Do you want to take part?").wait_for()
    visitor.look()
    visitor.press(visitor.find("button", "I agree and take part"))
    visitor.find("heading", "About you").wait_for()
    visitor.look(("light",))
    visitor.press(page.get_by_label(AGE["options"][0]["texts"][visitor.language]), "Space")
    visitor.press(visitor.find("button", "Save and continue"))
    visitor.find("heading", "Read the guidelines").wait_for()
    visitor.look(("light",))
    visitor.press(visitor.find("link", "Open the guidelines"))
    visitor.press(visitor.find("button", "Start rating"))


def practise(visitor: Visitor) -> None:
    """The training; whoever goes by keyboard in English fails it first, and sees how many attempts are left."""
    page = visitor.page
    visitor.find("heading", "Practise first").wait_for()
    visitor.look(("light",))
    visitor.press(visitor.find("button", "Start training"))
    if not visitor.taps and visitor.language == "en":
        page.get_by_text("Training task 1 of 1.").wait_for()
        assert page.get_by_role("button", name="Skip…").is_hidden()
        visitor.answer(1)
        page.get_by_text("You did not pass").wait_for()
        page.keyboard.press("Enter")
        visitor.find("heading", "Not passed yet: try again").wait_for()
        check(page, ("light",))
        visitor.press(visitor.find("button", "Start training"))
    visitor.answer(5)
    page.get_by_text(WHY[visitor.language]).wait_for()
    visitor.look()
    if visitor.taps:
        page.locator("[data-part=notice] button").tap()
    else:
        page.keyboard.press("Enter")  # the button has the focus
    page.locator("[data-part=training]").wait_for(state="hidden")


def rate(visitor: Visitor) -> None:
    """Two tasks; with a pause between them by touch in English."""
    question = votes.question_shown(visitor.page)
    visitor.answer(4)
    votes.goes_on(visitor.page, question)
    if visitor.taps and visitor.language == "en":
        visitor.press(visitor.find("button", "Stop for now"))
        visitor.find("heading", "A pause").wait_for()
        visitor.look()
        visitor.press(visitor.find("link", "Go on"))
    visitor.answer(4)


@pytest.mark.parametrize("taps", [True, False], ids=["touch", "keyboard"])
@pytest.mark.parametrize("language", ["en", CHINESE])
def test_a_participant_goes_from_the_link_to_the_code(telephone, link, language, taps):
    page, visitor = telephone, Visitor(telephone, language, taps)
    page.goto(link)
    page.get_by_text("您将逐个评判 2 个任务。").wait_for()
    if language == "en":
        visitor.press(page.get_by_role("button", name="English"))
        page.get_by_text("You judge 2 tasks, one after another.").wait_for()
    visitor.look()
    visitor.press(visitor.find("button", "Begin"))
    before_rating(visitor)
    practise(visitor)
    rate(visitor)
    visitor.find("heading", "Thank you. You are done.").wait_for()
    assert visitor.find("textbox", "Your code").input_value() == "C1DONE"
    back = page.get_by_role("link", name="Prolific")
    assert back.get_attribute("href") == "https://app.prolific.com/submissions/complete?cc=C1DONE"
    visitor.look()
    assert Judgment.objects.exclude(task__kind=Task.Kind.TRAINING).count() == 2
    assert Place.objects.get().state == Place.State.COMPLETED
