"""Protocols that no page knows by name: what is asked comes from their definition alone."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Answer, Judgment, Study
from annotation.studies import protocols
from tests import factories
from tests.e2e import studies
from tests.factories import member

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PANEL = {
    "key": "panel",
    "title": "Four answers",
    "layout": "panel",
    "candidate": "text",
    "guidelines": "Judge each answer.",
    "content": ["question", "reference"],
    "candidates": [2, 8],
    "questions": [
        {
            "key": "right",
            "kind": "correctness",
            "level": "nominal",
            "title": "Is it right?",
            "per_candidate": True,
            "points": [{"value": 1, "label": "Right"}, {"value": 0, "label": "Wrong"}],
        },
        {
            "key": "effort",
            "kind": "rating",
            "level": "interval",
            "title": "How hard was it?",
            "minimum": 0,
            "maximum": 100,
            "required": False,
        },
    ],
}
FREE_CHOICE = {
    "key": "free-choice",
    "title": "Free choice",
    "layout": "comparison",
    "candidate": "clip",
    "guidelines": "Choose.",
    "content": ["prompt"],
    "questions": [
        {
            "key": "better",
            "kind": "preference",
            "level": "nominal",
            "title": "Which is better?",
            "tie": True,
            "both_bad": True,
        },
        {"key": "fit", "kind": "rating", "level": "ordinal", "title": "Fit", "minimum": 0, "maximum": 10},
    ],
}


def study_with(definition: dict[str, Any]) -> Study:
    study = factories.StudyFactory(slug="own", overlap=1)
    protocols.add_protocol_version(study, definition=definition, actor=None)
    return study


def test_a_panel_asks_about_each_candidate_beside_it(page, begin):
    study = study_with(PANEL)
    factories.panel_task(study, "bell", [f"Answer number {n}" for n in range(3)], reference="A bell.")
    begin(study)
    for label in "ABC":
        page.get_by_role("radiogroup", name=f"{label}: Is it right?").get_by_label("Wrong").check(force=True)
    page.get_by_role("radiogroup", name="B: Is it right?").get_by_label("Right").check(force=True)
    page.get_by_label("As a number: How hard was it?").fill("12.5")
    studies.finish(page)
    judgment = Judgment.objects.get()
    right = Answer.objects.get(question__key="right", value=1)
    assert right.candidate.text == f"Answer number {judgment.presentation[1]}"
    assert Answer.objects.filter(question__key="right").count() == 3
    assert Answer.objects.get(question__key="effort").value == 12.5


def test_tie_and_both_bad_are_there_where_the_protocol_has_them(page, begin):
    study = study_with(FREE_CHOICE)
    for number in range(2):
        for side in (1, 2):
            studies.tone(f"pair-{number}-{side}", hertz=300)
        factories.comparison_task(study, f"pair-{number}")
    begin(study)
    page.keyboard.press("t")
    page.keyboard.press("7")
    page.keyboard.press("Control+Enter")
    page.get_by_text("1 of 2 done", exact=True).wait_for()
    page.get_by_label("Both bad").check(force=True)
    page.get_by_role("radiogroup", name="Fit").get_by_label("10").check(force=True)
    studies.finish(page)
    choices = Answer.objects.filter(question__key="better").order_by("judgment_id")
    assert list(choices.values_list("choice", flat=True)) == [Answer.Choice.TIE, Answer.Choice.BOTH_BAD]
    fits = Answer.objects.filter(question__key="fit").order_by("judgment_id")
    assert list(fits.values_list("value", flat=True)) == [7, 10]


def test_a_task_leased_under_an_earlier_version_is_asked_as_it_was(page, signed_in):
    study = studies.rating_study(tasks=1)
    rater = member(study)
    signed_in(rater)
    studies.open_work(page, study)
    protocols.add_protocol_version(study, preset="cmi-pref", actor=None)
    studies.open_work(page, study)
    assert page.get_by_role("radiogroup", name="How correct is the answer?").is_visible()
    page.get_by_label("Almost correct").check(force=True)
    studies.finish(page)
    assert Judgment.objects.get().protocol_version.number == 1
