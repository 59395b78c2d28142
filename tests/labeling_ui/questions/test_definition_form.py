"""The editor's form and the definition it stands for: every field of the schema, there and back, and its buttons."""

from __future__ import annotations

import copy
from dataclasses import fields as fields_of
from typing import Any

import pytest
from django.http import QueryDict

from annotation.protocols import definition_of_preset, parse, preset_keys, schema
from annotation.protocols.changes import compare
from annotation.protocols.faults import faults
from labeling_ui.questions import editor_page, fields
from labeling_ui.questions.definition_form import apply, blank_definition, read_definition
from labeling_ui.questions.fault_texts import PROBLEMS, fault_sentence
from tests.annotation.protocols.test_load import FAULTS

EVERY_KIND = {
    "title": {"en": "Test", "zh-hans": "测试"}, "layout": "panel", "candidates": [2, 5], "candidate": "clip",
    "guidelines": "Listen.", "content": ["prompt", "reference_clip"], "comment": True, "codes_title": "Flaws",
    "codes": [{"key": "A", "title": "Noise", "meaning": "Hiss"}], "source": "Us", "key": "every",
    "listening": {"must_hear": ["candidates", "reference_clip"]}, "added": ["hidden_reference"],
    "glossary": [{"dimension": "Melody", "positive": [{"en": "clear", "zh-hans": "清晰"}], "negative": ["flat"]}],
    "skip_reasons": [{"key": "broken", "title": "It does not play"}],
    "questions": [
        {"key": "order", "kind": "ranking", "title": "Best first"},
        {"key": "good", "kind": "rating", "level": "interval", "title": "How good?", "per_candidate": True,
         "points": [{"value": 1, "label": "Bad"}, {"value": 2.5}], "excused_by": ["A"],
         "confidence": {"title": "Sure?", "points": [{"value": 1}, {"value": 2}], "required": False}},
        {"key": "loud", "kind": "rating", "level": "ratio", "title": "How loud?", "minimum": 0, "maximum": 10,
         "step": 0.5, "bands": [{"minimum": 0, "maximum": 10, "label": "All"}]},
        {"key": "flaws", "kind": "choices", "title": "What?", "min_choices": 0, "max_choices": 1,
         "options": [{"key": "x", "title": "X", "meaning": "M"}, {"key": "y", "title": {"en": "Y", "zh-hans": "乙"}}]},
        {"key": "genre", "kind": "choice", "level": "ordinal", "title": "Which?", "required": False,
         "options": [{"key": "x", "title": "X"}, {"key": "y", "title": "Y"}],
         "ask_if": {"question": "flaws", "any_of": ["x"]}},
        {"key": "why", "kind": "text", "title": "Why?", "help": "Briefly", "max_length": 100, "per_candidate": True,
         "ask_if": {"question": "good", "any_of": [2.5]}},
        {"key": "clicks", "kind": "events", "title": "Where?", "per_candidate": True, "extent": "point",
         "min_events": 1, "max_events": 3, "notes": True, "options": [{"key": "c", "title": "Click"}]},
    ],
}  # fmt: skip
DEFINITIONS = {**{key: definition_of_preset(key) for key in preset_keys()}, "every": EVERY_KIND}


def sent(definition: dict[str, Any]) -> QueryDict:
    """What a browser sends of the editor's page."""
    editor = editor_page.build(definition, languages=[])
    data = QueryDict(mutable=True)
    data.setlist("languages", [tag for tag, _name in editor.languages])
    for value in editor.candidates or ():
        data[value.name] = value.value

    def control(one: editor_page.Control) -> None:
        if one.widget == "flag":
            data.update({one.path: "1"} if one.checked else {})
        elif one.choices:
            data.setlist(one.path, [choice.value for choice in one.choices if choice.chosen])
        else:
            data.update({value.name: value.value for value in one.values})
        if one.was is not None:
            data[one.was_name] = one.was

    def rows(found: editor_page.RowList) -> None:
        for row in found.rows:
            for one in row.controls:
                control(one)

    for card in editor.cards:
        data[f"{card.path}.type"] = card.type.key
        data[f"{card.path}.confidence.on"] = "1" if card.has_confidence else ""
        for one in (*card.main, *card.more, *card.confidence):
            control(one)
        for found in (
            *card.rows,
            *card.more_rows,
            *([card.confidence_points] if card.confidence_points else []),
        ):
            rows(found)
        if card.condition:
            data[f"{card.condition.path}.question"] = card.condition.question
            chosen = [c.value for *_rest, choices in card.condition.earlier for c in choices if c.chosen]
            data.setlist(f"{card.condition.path}.any_of", chosen)
    singles = [
        *editor.titles,
        *editor.shown,
        *editor.names,
        editor.codes_title,
        editor.comment,
        editor.must_hear,
    ]
    for one in (*singles, *([editor.added] if editor.added else [])):
        control(one)
    for found in (editor.codes, editor.skip_reasons, editor.glossary):
        rows(found)
    return data


@pytest.mark.parametrize("key", DEFINITIONS)
def test_what_the_form_shows_and_is_sent_back_is_the_same_protocol(key):
    before = parse(DEFINITIONS[key])
    assert compare(before, parse(read_definition(sent(DEFINITIONS[key]))), tasks=True, judgments=True) == []


def test_every_field_of_the_schema_has_its_input():
    shown = {one.name for one in fields.QUESTION} | {rows.name for rows in fields.QUESTION_ROWS}
    assert {each.name for each in fields_of(schema.QuestionSpec)} - shown == {"kind", "confidence", "ask_if"}
    whole = {one.name for one in fields.PROTOCOL} | {rows.name for rows in fields.PROTOCOL_ROWS}
    rest = {each.name for each in fields_of(schema.Protocol) if each.init} - whole
    assert rest == {"candidates", "questions", "listening"}
    parts = (schema.Point, schema.OptionSpec, schema.Band, schema.CodeSpec, schema.GlossaryRow)
    lists = (fields.POINTS, fields.OPTION_ROWS, fields.BANDS, fields.CODES, fields.GLOSSARY)
    for part, rows in zip(parts, lists, strict=True):
        assert {each.name for each in fields_of(part)} == {one.name for one in rows.inputs}


@pytest.mark.parametrize("layout", ["rating", "comparison"])
@pytest.mark.parametrize("key", ["preference", "rating", "slider", "choice", "choices", "events", "text"])
def test_a_new_question_of_each_kind_can_be_used_once_it_has_its_wording(layout, key):
    if key == "preference" and layout == "rating":
        return
    definition = apply(blank_definition(layout), f"question:{key}")
    definition["questions"][-1]["title"] = "How is it?"
    saved = read_definition(sent(definition))
    assert [question.key for question in parse(saved).questions][1:] == ["how_is_it"]


def test_buttons_move_copy_remove_and_change_and_a_lost_condition_goes():
    questions = EVERY_KIND["questions"]

    def keys(definition: dict[str, Any]) -> list[str]:
        return [question["key"] for question in definition["questions"]]

    assert keys(apply(EVERY_KIND, "up:questions.1"))[:2] == ["good", "order"]
    assert keys(apply(EVERY_KIND, "copy:questions.0"))[:2] == ["order", ""]
    removed = apply(EVERY_KIND, "remove:questions.3")
    assert (len(removed["questions"]), "ask_if" in removed["questions"][3]) == (len(questions) - 1, False)
    assert [
        point["value"] for point in apply(EVERY_KIND, "scale:questions.1:7")["questions"][1]["points"]
    ] == list(range(1, 8))
    changed = apply(EVERY_KIND, "type:questions.3:choice")["questions"][3]
    assert (changed["kind"], len(changed["options"]), "min_choices" in changed) == ("choice", 2, False)
    assert apply(EVERY_KIND, "remove:questions.99") == EVERY_KIND


def test_a_condition_follows_a_key_that_is_made_from_the_wording():
    data = sent(EVERY_KIND)
    data["questions.3.title.en"], data["questions.3.key"] = "Which flaws?", ""
    data["questions.3.options.0.title.en"], data["questions.3.options.0.key"] = "Noise", ""
    asked = read_definition(data)["questions"]
    assert (asked[3]["key"], asked[4]["ask_if"]) == (
        "which_flaws",
        {"question": "which_flaws", "any_of": ["noise"]},
    )


def test_faults_are_named_together_each_at_its_place():
    definition = copy.deepcopy(EVERY_KIND)
    definition["questions"][1]["points"] = []
    definition["questions"][3]["options"] = []
    definition["codes"][0]["title"] = {}
    assert {fault.where for fault in faults(definition)} == {
        "questions[1]", "questions[3].options", "codes[0].title",
    }  # fmt: skip
    assert faults(EVERY_KIND) == []
    editor = editor_page.build(
        definition, languages=[], faults=[("questions[3].options", "few"), ("nowhere", "odd")]
    )
    assert (editor.cards[3].rows[0].faults, editor.other_faults) == (["few"], ["odd"])


def test_every_fault_of_a_definition_is_a_sentence_of_the_catalogue():
    patterns = [pattern.partition("%")[0].rstrip() for pattern in PROBLEMS]
    unknown = {
        fault.problem
        for _where, definition in FAULTS
        for fault in faults(definition)
        if isinstance(definition, dict)
        and fault_sentence(fault.problem) == fault.problem[:1].upper() + fault.problem[1:]
        and not any(fault.problem.startswith(start) or not start for start in patterns)
    }
    assert unknown == set()


@pytest.mark.parametrize(("layout", "of_each"), [("comparison", True), ("panel", True), ("rating", False)])
def test_ratings_beside_several_clips_are_of_each(layout, of_each):
    definition = {**blank_definition("rating"), "layout": layout}
    for kind in ("rating", "slider", "events"):
        question = apply(definition, f"question:{kind}")["questions"][-1]
        assert question.get("per_candidate", False) is of_each
