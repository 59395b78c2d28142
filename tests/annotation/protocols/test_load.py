"""Definitions that can be used, and every fault of those that cannot, with its place."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.protocols import ProtocolError, Text, definition_of_preset, parse, preset, preset_keys
from annotation.protocols.faults import faults
from tests.annotation.rating.rules.protocols import CONFIDENCE, SCALE, definition, preference, question, text

CODE = {"key": "U", "title": "Unable"}


def slider(**fields: Any) -> dict[str, Any]:
    return question(points=[], minimum=0, maximum=100, **fields)


def band(minimum: Any, maximum: Any) -> dict[str, Any]:
    return {"minimum": minimum, "maximum": maximum, "label": f"from {minimum}"}


def test_a_small_definition_gets_the_rest_by_default():
    protocol = parse(definition())
    (asked,) = protocol.questions
    assert (protocol.candidates, protocol.content, protocol.comment) == ((1, 1), (), False)
    assert (asked.required, asked.values, asked.confidence, asked.max_length) == (
        True,
        (1.0, 2.0, 3.0, 4.0, 5.0),
        None,
        2000,
    )


def test_a_question_is_found_by_its_key_and_a_layout_says_how_many_candidates_it_shows():
    protocol = parse(definition(question(), text()))
    assert protocol.question("why") is protocol.questions[1]
    assert protocol.question("nothing") is None
    shown = {
        layout: parse(definition(layout=layout)).candidates
        for layout in ("rating", "comparison", "abx", "panel")
    }
    assert shown == {"rating": (1, 1), "comparison": (2, 2), "abx": (2, 2), "panel": (1, 26)}


def test_a_point_may_go_without_a_label_and_bands_name_stretches_in_any_order():
    points = [{"value": 0, "label": "None"}, {"value": 1}]
    pointed, banded = (
        parse(definition(one)).questions[0]
        for one in (question(points=points), slider(bands=[band(50, 100), band(0, 50)]))
    )
    assert [str(point.label) for point in pointed.points] == ["None", ""]
    assert [(each.minimum, each.maximum) for each in banded.bands] == [(50, 100), (0, 50)]


@pytest.mark.parametrize(
    ("own", "repeats"),
    [({}, False), ({"layout": "abx"}, True), ("mushra", True), ({"layout": "panel"}, False)],
)
def test_a_protocol_knows_whether_two_clips_of_a_task_are_one_sound(own, repeats):
    protocol = preset(own) if isinstance(own, str) else parse(definition(text(), **own))
    assert protocol.repeats_a_sound == repeats


def test_a_preference_offers_ties_only_where_stated():
    plain, tied = (
        parse(definition(preference(**more), layout="comparison")).questions[0].choices
        for more in ({}, {"tie": True, "both_bad": True})
    )
    assert (plain, tied) == (("A", "B"), ("A", "B", "tie", "both_bad"))


OPTIONS = [{"key": key, "title": key.upper()} for key in ("rock", "jazz", "folk")]


def choice(**fields: Any) -> dict[str, Any]:
    return {"key": "genre", "kind": "choice", "title": "What is it?", "options": OPTIONS, **fields}


def choices(**fields: Any) -> dict[str, Any]:
    return choice(**{"key": "flaws", "kind": "choices", **fields})


def ranking(**fields: Any) -> dict[str, Any]:
    return {"key": "order", "kind": "ranking", "title": "Best first", **fields}


def events(**fields: Any) -> dict[str, Any]:
    return {"key": "clicks", "kind": "events", "title": "Where does it click?", **fields}


def after(*values: Any, question: str = "genre") -> dict[str, Any]:
    return {"ask_if": {"question": question, "any_of": list(values)}}


def test_each_kind_has_its_own_fields_and_the_level_that_its_answers_can_have():
    parsed = parse(
        definition(
            choice(level="ordinal"),
            choices(min_choices=0, max_choices=2),
            ranking(),
            events(per_candidate=True, options=OPTIONS, extent="interval", min_events=1),
            slider(step=5, **after("rock", "jazz")),
            layout="panel",
            candidates=[3, 8],
            codes_title="What is wrong?",
        )
    )
    genre, flaws, order, clicks, rated = parsed.questions
    assert [each.level for each in parsed.questions] == ["ordinal", "nominal", "ordinal", "", "ordinal"]
    assert (genre.option_keys, str(genre.option(2).title)) == (("rock", "jazz", "folk"), "JAZZ")
    assert (flaws.min_choices, flaws.max_choices, flaws.is_none_an_answer) == (0, 2, True)
    assert (clicks.extent, clicks.min_events, clicks.is_none_an_answer) == ("interval", 1, False)
    assert (rated.step, rated.ask_if.question, rated.ask_if.any_of) == (5, "genre", ("rock", "jazz"))
    assert (order.required, str(parsed.codes_title)) == (True, "What is wrong?")


def test_a_condition_is_about_the_same_candidate_and_not_fulfilled_by_what_was_not_asked():
    protocol = parse(
        definition(
            choice(),
            question(per_candidate=True, **after("rock")),
            text(per_candidate=True, **after(1, 2, question="quality")),
            layout="panel",
        )
    )
    why = protocol.questions[2]
    given = {("genre", None): ["rock"], ("quality", 0): [2.0], ("quality", 1): [5.0]}
    assert [protocol.asks(why, given, position) for position in (0, 1, 2)] == [True, False, False]
    assert not protocol.asks(why, {**given, ("genre", None): ["jazz"]}, 0)


FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("questions[0].options", definition(choice(options=OPTIONS[:1]))),
    ("questions[0].options", definition(choice(options=[*OPTIONS, OPTIONS[0]]))),
    ("questions[0].options[0].key", definition(choice(options=[{"key": "a b", "title": "A"}, *OPTIONS]))),
    ("questions[0].options[0].title", definition(choice(options=[{"key": "a"}, *OPTIONS]))),
    ("questions[0].options", definition(question(options=OPTIONS))),
    ("questions[0].level", definition(choice(level="interval"))),
    ("questions[0].min_choices", definition(choice(min_choices=1))),
    ("questions[0].min_choices", definition(choices(min_choices=4))),
    ("questions[0].max_choices", definition(choices(min_choices=2, max_choices=1))),
    ("questions[0].step", definition(slider(step=7))),
    ("questions[0].step", definition(question(step=1))),
    ("questions[0].kind", definition(ranking())),
    ("questions[0].kind", definition(ranking(), layout="panel", candidates=[2, 9])),
    ("questions[0].confidence", definition(ranking(confidence=CONFIDENCE), layout="comparison")),
    ("questions[0].clip", definition(events(), candidate="text")),
    ("questions[0].clip", definition(events(clip="clip"))),
    ("questions[0].per_candidate", definition(events(), layout="comparison")),
    ("questions[0].extent", definition(events(extent="long"))),
    ("questions[0].max_events", definition(events(min_events=3, max_events=2))),
    ("questions[0].ask_if", definition(question(**after("rock")))),
    ("questions[1].ask_if", definition(choice(), question(ask_if={"question": "genre"}))),
    ("questions[1].ask_if.question", definition(choice(), question(**after("x", question="later")))),
    ("questions[1].ask_if.question", definition(text(), question(**after("x", question="why")))),
    ("questions[1].ask_if.question", definition(choice(per_candidate=True), question(**after("rock")))),
    ("questions[1].ask_if.any_of", definition(choice(), question(**after("pop")))),
    ("questions[1].ask_if.any_of", definition(choice(), question(**after()))),
    ("protocol", definition(colour="red")),
    ("key", definition(key="")),
    ("key", definition(key=7)),
    ("layout", definition(layout="grid")),
    ("candidate", definition(candidate="video")),
    ("candidates", definition(candidates=[1, 2])),
    ("candidates", definition(layout="panel", candidates=[4, 3])),
    ("candidates", definition(layout="panel", candidates=[2])),
    ("candidates", definition(layout="panel", candidates=3)),
    ("candidates", definition(layout="panel", candidates=["2", "3"])),
    ("title", definition(title=3)),
    ("title", definition(title={"zh-hans": "标题"})),
    ("guidelines", {k: v for k, v in definition().items() if k != "guidelines"}),
    ("content", definition(content=["prompt", "smell"])),
    ("content", definition(content=["prompt", "prompt"])),
    ("content", definition(content="prompt")),
    ("comment", definition(comment="yes")),
    ("questions", definition(questions=[])),
    ("questions", definition(questions={"key": "quality"})),
    ("questions", definition(question(), question())),
    ("questions[0]", definition(question(weight=2))),
    ("questions[1]", definition(question(), "quality")),
    ("questions[0].key", definition(question(key="Quality"))),
    ("questions[0].key", definition(question(key=None))),
    ("questions[0].kind", definition(question(kind="guess"))),
    ("questions[0].kind", definition(preference())),
    ("questions[0].level", definition(question(level=""))),
    ("questions[0].level", definition(question(level="cardinal"))),
    ("questions[0].title", definition({k: v for k, v in question().items() if k != "title"})),
    ("questions[0].required", definition(question(required=1))),
    ("questions[0].per_candidate", definition(preference(per_candidate=True), layout="comparison")),
    ("questions[0].excused_by", definition(question(excused_by=["Z"]), codes=[CODE])),
    ("questions[0].excused_by", definition(question(excused_by="U"), codes=[CODE])),
    ("questions[0]", definition(question(points=[]))),
    ("questions[0]", definition(question(points=[], minimum=0))),
    ("questions[0].minimum", definition(question(points=[], minimum=5, maximum=5))),
    ("questions[0].minimum", definition(question(points=[], minimum="0", maximum=5))),
    ("questions[0].maximum", definition(question(points=[], minimum=0, maximum=float("inf")))),
    ("questions[0].max_length", definition(text(max_length=0))),
    ("questions[0].max_length", definition(text(max_length="long"))),
    ("questions[0].points", definition(question(points=5))),
    ("questions[0].points", definition(question(points=[*SCALE, SCALE[0]]))),
    ("questions[0].points[0]", definition(question(points=[1, 2]))),
    ("questions[0].points[1].value", definition(question(points=[SCALE[0], {"label": "two"}]))),
    ("questions[0].points[0].value", definition(question(points=[{"value": True, "label": "yes"}]))),
    ("questions[0].points[0].label", definition(question(points=[{"value": 1, "label": 1}]))),
    ("questions[0].bands", definition(question(bands=[band(0, 5)]))),
    ("questions[0].bands", definition(slider(bands=[band(0, 50), band(60, 100)]))),
    ("questions[0].bands", definition(slider(bands=[band(0, 60), band(50, 100)]))),
    ("questions[0].bands", definition(slider(bands=[band(0, 50)]))),
    ("questions[0].bands", definition(slider(bands=[band(0, 100), band(100, 100)]))),
    ("questions[0].bands[0]", definition(slider(bands=[band(None, 100)]))),
    ("questions[0].bands[0].label", definition(slider(bands=[{"minimum": 0, "maximum": 100}]))),
    ("added", definition(added=["hidden_reference"])),
    ("added", definition(layout="panel", added=["hidden_reference"])),
    ("added", definition(layout="panel", content=["reference_clip"], added=["anchor_10"])),
    (
        "added",
        definition(layout="panel", content=["reference_clip"], candidate="text", added=["anchor_3500"]),
    ),
    ("questions[0]", definition(preference(level="nominal"), layout="abx")),
    ("questions[0]", definition(preference(level="", tie=True), layout="abx")),
    ("questions[0]", definition(preference(level="", both_bad=True), layout="abx")),
    ("questions[0].per_candidate", definition(question(per_candidate=True), layout="abx")),
    ("questions[0].level", definition(preference(level=""), layout="comparison")),
    ("questions[0].confidence", definition(question(confidence=[1, 2]))),
    ("questions[0].confidence.title", definition(question(confidence={"points": SCALE}))),
    ("questions[0].confidence.points", definition(question(confidence={"title": "Sure?"}))),
    ("questions[0].confidence.required", definition(question(confidence={**CONFIDENCE, "required": None}))),
    ("codes", definition(codes=[CODE, CODE])),
    ("codes[0].key", definition(codes=[{"key": "x" * 17, "title": "Long"}])),
    ("codes[0].title", definition(codes=[{"key": "U"}])),
    ("skip_reasons", definition(skip_reasons=[CODE, CODE])),
    ("skip_reasons[0]", definition(skip_reasons=["audio"])),
    ("glossary[0].dimension", definition(glossary=[{"positive": ["clean"]}])),
    ("glossary[0].positive[0]", definition(glossary=[{"dimension": "Sound", "positive": [7]}])),
    ("listening.must_hear", definition(listening={"must_hear": ["clip"]})),
    ("listening.must_hear", definition(candidate="text", listening={"must_hear": ["candidates"]})),
    ("listening", definition(listening={"seconds": 3})),
    ("listening", definition(listening=3)),
    ("glossary[0].negative", definition(glossary=[{"dimension": "Sound", "negative": "harsh"}])),
]


@pytest.mark.parametrize(
    ("where", "faulty"), FAULTS, ids=[f"{n}-{where}" for n, (where, _) in enumerate(FAULTS)]
)
def test_a_fault_is_reported_with_its_place(where, faulty):
    with pytest.raises(ProtocolError) as caught:
        parse(faulty)
    assert caught.value.where == where
    assert str(caught.value) == f"{where}: {caught.value.problem}"


@pytest.mark.parametrize("thing", [None, "orca", ["questions"], 3])
def test_only_a_table_is_a_definition(thing):
    with pytest.raises(ProtocolError, match="must be a table"):
        parse(thing)


@pytest.mark.parametrize("key", ["orka", "../../pyproject"])
def test_a_preset_that_is_not_there_or_a_path_names_those_that_are(key):
    with pytest.raises(ProtocolError, match=rf"'{key}' is not one of .*cmi-pref.*orca"):
        definition_of_preset(key)


# ── Languages ────────────────────────────────────────────────────────────────


def test_a_text_is_given_in_the_language_asked_for_and_else_in_english():
    title = parse(definition(title={"en": "Sound", "zh-hans": "声音"})).title
    assert [title.in_language(language) for language in ("zh-hans", "en", "de")] == ["声音", "Sound", "Sound"]
    assert str(title) == "Sound"
    assert Text({"en": "Sound", "zh-hans": ""}).in_language("zh-hans") == "Sound"
    assert parse(definition(title=" Sound ")).title == Text({"en": "Sound"})


# ── Listening ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("candidate", "must_hear"), [("clip", ("candidates",)), ("text", ())])
def test_clips_that_are_judged_must_be_heard_and_an_items_own_need_not(candidate, must_hear):
    silent = parse(definition(candidate=candidate, content=["clip"]))
    assert silent.listening.must_hear == must_hear


@pytest.mark.parametrize("must_hear", [[], ["clip"], ["candidates"], ["candidates", "reference_clip"]])
def test_a_definition_says_what_must_be_heard(must_hear):
    own = definition(content=["clip", "reference_clip"], listening={"must_hear": must_hear})
    assert parse(own).listening.must_hear == tuple(must_hear)


# ── Anything at all ──────────────────────────────────────────────────────────

JUNK = st.sampled_from([None, True, 0, -1, 2.5, "", "x", [], [1], ["x"], {}, {"en": "x"}, {"value": 1}, [[]]])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, element in inside for place in places(element, (*path, key)))]


@given(data=st.data(), key=st.sampled_from(preset_keys()))
def test_junk_anywhere_in_a_preset_is_refused_or_taken_and_never_a_crash(data, key):
    spoilt = copy.deepcopy(definition_of_preset(key))
    *path, last = data.draw(st.sampled_from([place for place in places(spoilt) if place]))
    target: Any = spoilt
    for step in path:
        target = target[step]
    target[last] = data.draw(JUNK)
    with contextlib.suppress(ProtocolError):
        assert parse(spoilt).questions


def test_a_preset_is_read_once():
    assert preset("orca") is preset("orca")


@pytest.mark.parametrize("maximum", [10**400, 1e308, float("nan")])
def test_a_number_beyond_all_measure_is_a_fault_of_the_definition(maximum):
    question = {
        "key": "q",
        "kind": "rating",
        "level": "ratio",
        "title": "q",
        "minimum": 0,
        "maximum": maximum,
    }
    with pytest.raises(ProtocolError, match="must be a number"):
        parse({**definition_of_preset("orca"), "questions": [question]})


def test_a_step_too_small_to_count_is_a_fault_of_the_definition():
    question = {
        "key": "q",
        "kind": "rating",
        "level": "ratio",
        "title": "q",
        "minimum": 0,
        "maximum": 1,
        "step": 5e-324,
    }
    with pytest.raises(ProtocolError, match="does not lead"):
        parse({**definition_of_preset("orca"), "questions": [question]})


def test_a_missing_field_is_one_fault_and_makes_none_of_the_questions():
    (fault,) = faults({"layout": "rating", "title": "t", "guidelines": "g", "questions": [{"key": "Q 1"}]})
    assert (fault.where, fault.problem) == ("candidate", "is missing; use one of clip, text")
