"""Which changes of a protocol a study's data allow."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from annotation.protocols import definition_of_preset, parse
from annotation.protocols.changes import compare, is_same_scale, refused

OPTIONS = [{"key": key, "title": key.upper()} for key in ("noise", "clicks", "hiss")]


def definition() -> dict[str, Any]:
    whole = copy.deepcopy(definition_of_preset("cmi-pref"))
    flaws = {"key": "flaws", "kind": "choices", "title": "What is wrong?", "options": copy.deepcopy(OPTIONS)}
    whole["questions"].append(flaws)
    whole["codes"] = [{"key": "A", "title": "Audio"}]
    return whole


def changed(change: Any) -> list[Any]:
    after = definition()
    change(after)
    return compare(parse(definition()), parse(after), tasks=True, judgments=True)


def edit(*path: Any, to: Any) -> Any:
    def change(whole: dict[str, Any]) -> None:
        part = whole
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to

    return change


NEW = {"key": "why", "kind": "text", "title": "Why?", "required": False}
OTHER_POINTS = [{"value": value} for value in (1, 2, 3)]
ALLOWED = {
    "questions[0].title": edit("questions", 0, "title", to="Which fits the prompt better?"),
    "guidelines": edit("guidelines", to="Listen twice."),
    "questions[0].confidence.title": edit("questions", 0, "confidence", "title", to="How sure?"),
    "codes[0].title": edit("codes", 0, "title", to="Audio broken"),
    "questions[4]": lambda whole: whole["questions"].append(NEW),
    "questions[3].options[3]": edit("questions", 3, "options", to=[*OPTIONS, {"key": "hum", "title": "Hum"}]),
    "questions[3].options[0].title": edit("questions", 3, "options", 0, "title", to="Noise!"),
    "questions[1].required": edit("questions", 1, "required", to=False),
    "listening": edit("listening", to={"must_hear": []}),
    "questions": lambda whole: whole["questions"].insert(0, whole["questions"].pop(1)),
}
REFUSED = {
    "layout": lambda whole: whole.update(
        layout="panel", candidates=[2, 2], questions=whole["questions"][-1:]
    ),
    "questions[3].options": edit("questions", 3, "options", to=OPTIONS[1:]),
    "questions[3].kind": edit("questions", 3, "kind", to="choice"),
    "questions[0].tie": edit("questions", 0, "tie", to=True),
    "questions[0].confidence.points": edit("questions", 0, "confidence", "points", to=OTHER_POINTS),
    "questions[4]": lambda whole: whole["questions"].append({**NEW, "required": True}),
    "questions[0]": lambda whole: whole["questions"].pop(0),
    "content": edit("content", to=[]),
    "questions[1].ask_if": edit(
        "questions", 1, "ask_if", to={"question": "alignment", "any_of": ["A"]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("where", ALLOWED)
def test_a_wording_may_change_at_any_time(where):
    changes = changed(ALLOWED[where])
    assert where in [change.where for change in changes]
    assert refused(changes) == []


@pytest.mark.parametrize("where", REFUSED)
def test_what_answers_rest_on_stands_and_says_why(where):
    assert where in [change.where for change in refused(changed(REFUSED[where]))]


def test_without_judgments_only_what_tasks_were_made_for_stands():
    after = definition()
    after["questions"] = [definition()["questions"][-1]]
    after["layout"] = "panel"
    after["candidates"] = [2, 2]
    free = compare(parse(definition()), parse(after), tasks=False, judgments=False)
    fixed = compare(parse(definition()), parse(after), tasks=True, judgments=False)
    assert (refused(free), [change.where for change in refused(fixed)]) == ([], ["layout"])


def test_a_translation_is_a_change_of_its_language_alone():
    (change,) = changed(edit("questions", 3, "title", to={"en": "What is wrong?", "zh": "有什么问题？"}))
    assert (change.language, change.before, change.after) == ("zh", "", "有什么问题？")


def test_values_go_together_after_other_wordings_and_new_options_and_not_on_another_scale():
    whole = definition()
    whole["questions"][3]["options"] = [*OPTIONS, {"key": "hum", "title": "Hum"}]
    flaws, more = (parse(each).questions[3] for each in (definition(), whole))
    assert (is_same_scale(flaws, more), is_same_scale(more, flaws)) == (True, False)
