"""A question of every kind is answered by the keyboard alone, and conditions show and take back what they ask."""

from __future__ import annotations

import pytest

from annotation.models import Answer
from annotation.studies import protocols
from tests import every_kind, factories
from tests.e2e import studies

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DEFINITION = every_kind.every_kind(
    questions=[
        *every_kind.QUESTIONS[:3],
        {**every_kind.QUESTIONS[3], "per_candidate": False},
        {**every_kind.QUESTIONS[5], "per_candidate": False},
        every_kind.QUESTIONS[6],
    ],
    candidates=[2, 2],
)


def test_every_kind_is_answered_by_keys_alone(page, begin):
    study = factories.StudyFactory(slug="kinds", overlap=1)
    protocols.add_protocol_version(study, definition=DEFINITION, actor=None)
    for side in (1, 2):
        studies.tone(f"pair-{side}", hertz=300 + side)
    factories.comparison_task(study, "pair")
    begin(study)
    press = page.keyboard.press
    page.locator(".ask.at-hand", has_text="Put them in order").wait_for()
    press("2")  # B first; the last one left gets the last place
    press("Enter")
    page.locator(".ask.at-hand", has_text="Which genre").wait_for()
    press("3")
    assert page.get_by_label("Which other?").is_visible()
    press("Shift+Enter")
    press("1")
    press("Enter")
    page.locator(".ask.at-hand", has_text="What is wrong?").wait_for()
    assert page.get_by_label("Which other?").is_hidden()
    press("1")
    press("3")
    press("Enter")
    page.locator(".ask.at-hand", has_text="How much do you like it?").wait_for()
    for key in "35":
        press(key)
    press("Enter")
    press("Space")  # plays A
    page.locator('[data-clip="a"].playing').wait_for()
    page.wait_for_timeout(600)
    press("e")
    page.wait_for_timeout(500)
    press("d")
    press("Space")
    page.get_by_label("Ends at").wait_for()
    press("Control+Enter")
    page.get_by_text("1 of 1 done").first.wait_for()
    answers = {
        answer.question.key: answer for answer in Answer.objects.select_related("question", "judgment")
    }
    shown = answers["genre"].judgment.presentation
    places = Answer.objects.filter(question__key="order").values_list("candidate__system__name", "value")
    assert dict(places) == {f"system-{shown[1] + 1}": 1, f"system-{shown[0] + 1}": 2}
    assert (answers["genre"].option, answers["flaws"].options) == ("rock", ["noise", "silence"])
    assert answers["liking"].value == 35
    ((event,),) = [answers["clicks"].events]
    assert (event["label"], 0 < event["start"] < event["end"] < 3) == ("noise", True)
    assert "which" not in answers
