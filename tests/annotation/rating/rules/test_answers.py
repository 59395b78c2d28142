"""Which answers are complete and valid, and what they say once sides are undone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.rating.rules import answers as rules
from annotation.rating.rules.answers import BOTH_BAD, FIRST, SECOND, TIE, CanonicalAnswer
from tests.annotation.rating.rules.protocols import CONFIDENCE, SCALE, preference, protocol, question, text

QUALITY = {"question": "quality", "value": 4}


def problems(
    spec, answers: list[dict[str, Any]], *, codes=(), comment="", n_candidates=1
) -> list[tuple[str, str]]:
    found = rules.check_answers(
        spec, answers=answers, codes=codes, comment=comment, n_candidates=n_candidates
    )
    return [(problem.field, problem.message) for problem in found]


def fields(spec, answers, **more) -> list[str]:
    return [field for field, _ in problems(spec, answers, **more)]


def test_a_complete_answer_has_no_problem():
    assert problems(protocol(), [QUALITY]) == []


def test_an_unknown_question_is_named_with_those_that_are_asked():
    spec = protocol(question(required=False), text(required=False))
    assert problems(spec, [{"question": "loudness", "value": 4}]) == [
        ("answers[0].question", "This protocol asks quality, why.")
    ]


def test_an_answer_without_a_question_is_a_problem():
    assert fields(protocol(question(required=False)), [{}]) == ["answers[0].question"]


def test_a_question_answered_twice_is_a_problem_at_the_second_answer():
    assert problems(protocol(), [QUALITY, QUALITY]) == [("answers[1]", "quality is answered twice.")]


def test_a_required_question_left_out_is_a_problem():
    assert problems(protocol(), []) == [("answers", "quality is not answered; answer it.")]


def test_a_question_that_is_not_required_may_be_left_out():
    assert problems(protocol(question(required=False)), []) == []


def test_every_problem_is_told_not_only_the_first():
    spec = protocol(question(), text())
    found = fields(spec, [{"question": "quality", "value": 9}, {"question": "why", "text": " "}], codes=["Z"])
    assert found == ["answers[0].value", "answers[1].text", "codes[0]"]


# ── Ratings ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("value", [None, "4", True, False, float("nan"), float("inf"), 10**400, [4], {}])
def test_a_rating_is_a_finite_number(value):
    assert problems(protocol(), [{**QUALITY, "value": value}]) == [("answers[0].value", "Give a number.")]


@pytest.mark.parametrize("value", [0, 6, 3.5, -1])
def test_a_rating_is_one_of_the_points(value):
    assert problems(protocol(), [{**QUALITY, "value": value}]) == [
        ("answers[0].value", f"{value} is not on the scale 1, 2, 3, 4, 5.")
    ]


def sliding(**more):
    return question(points=[], minimum=0, maximum=100, level="interval", **more)


@pytest.mark.parametrize("value", [0, 33.3, 100])
def test_a_slider_takes_any_number_in_its_range(value):
    assert problems(protocol(sliding()), [{**QUALITY, "value": value}]) == []


@pytest.mark.parametrize("value", [-0.1, 100.1])
def test_a_slider_refuses_what_is_outside(value):
    assert problems(protocol(sliding()), [{**QUALITY, "value": value}]) == [
        ("answers[0].value", f"{value} is outside 0.0 to 100.0.")
    ]


# ── Preferences ──────────────────────────────────────────────────────────────


def pairs(**more):
    return protocol(preference(**more), layout="comparison")


@pytest.mark.parametrize("choice", ["A", "B"])
def test_a_preference_is_for_a_side(choice):
    assert problems(pairs(), [{"question": "better", "choice": choice}], n_candidates=2) == []


@pytest.mark.parametrize("choice", [None, "a", "C", "tie", "both_bad", 1, ["A"]])
def test_a_preference_is_one_of_the_choices_offered(choice):
    assert problems(pairs(), [{"question": "better", "choice": choice}], n_candidates=2) == [
        ("answers[0].choice", "Choose one of A, B.")
    ]


def test_ties_are_taken_where_the_protocol_offers_them():
    spec = pairs(tie=True, both_bad=True)
    for choice in ("tie", "both_bad"):
        assert problems(spec, [{"question": "better", "choice": choice}], n_candidates=2) == []


# ── Confidence ───────────────────────────────────────────────────────────────


def test_confidence_is_asked_for_where_the_protocol_wants_it():
    spec = protocol(question(confidence=CONFIDENCE))
    assert problems(spec, [QUALITY]) == [("answers[0].confidence", "Say how sure you are: 1, 2, 3, 4, 5.")]
    assert problems(spec, [{**QUALITY, "confidence": 5}]) == []


def test_confidence_may_be_left_out_where_it_is_optional():
    spec = protocol(question(confidence={**CONFIDENCE, "required": False}))
    assert problems(spec, [QUALITY]) == []


@pytest.mark.parametrize("confidence", [0, 6, "5", True, float("nan")])
def test_confidence_is_one_of_its_points(confidence):
    spec = protocol(question(confidence=CONFIDENCE))
    assert fields(spec, [{**QUALITY, "confidence": confidence}]) == ["answers[0].confidence"]


def test_confidence_nobody_asked_for_is_a_problem():
    assert problems(protocol(), [{**QUALITY, "confidence": 3}]) == [
        ("answers[0].confidence", "quality asks for no confidence.")
    ]


# ── Texts, codes, comments ───────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (None, "Give a text."),
        (7, "Give a text."),
        ("", "Write at least one sentence."),
        (" \n", "Write at least one sentence."),
        ("x" * 51, "The text is longer than 50 characters."),
    ],
)
def test_a_required_text_says_something_within_its_length(sent, message):
    spec = protocol(text(max_length=50))
    assert problems(spec, [{"question": "why", "text": sent}]) == [("answers[0].text", message)]


def test_an_optional_text_may_be_empty():
    assert problems(protocol(text(required=False)), [{"question": "why", "text": ""}]) == []


CODES = [{"key": "U", "title": "Unable"}, {"key": "A", "title": "Audio"}]


def test_codes_are_those_of_the_protocol():
    assert problems(protocol(codes=CODES), [QUALITY], codes=["A", "Z"]) == [
        ("codes[1]", "'Z' is not one of U, A.")
    ]


def test_a_protocol_without_codes_takes_none():
    assert fields(protocol(), [QUALITY], codes=["U"]) == ["codes[0]"]


def test_a_code_is_given_once():
    assert problems(protocol(codes=CODES), [QUALITY], codes=["A", "A"]) == [
        ("codes", "A code is given twice.")
    ]


def test_a_code_excuses_the_questions_that_name_it():
    spec = protocol(question(excused_by=["U"]), codes=CODES)
    assert problems(spec, [], codes=["U"]) == []
    assert problems(spec, [], codes=["A"]) == [
        ("answers", "quality is not answered; answer it, or give code U.")
    ]


def test_an_excused_question_may_still_be_answered_and_is_then_checked():
    spec = protocol(question(excused_by=["U"]), codes=CODES)
    assert problems(spec, [QUALITY], codes=["U"]) == []
    assert fields(spec, [{**QUALITY, "value": 9}], codes=["U"]) == ["answers[0].value"]


def test_a_comment_has_a_length():
    assert problems(protocol(), [QUALITY], comment="x" * 4000) == []
    assert fields(protocol(), [QUALITY], comment="x" * 4001) == ["comment"]


# ── Questions asked of each candidate ────────────────────────────────────────


def panel(**more):
    return protocol(question(per_candidate=True, **more), layout="panel", candidates=[2, 3])


def test_each_candidate_wants_its_answer():
    rated = [{**QUALITY, "position": 0}, {**QUALITY, "position": 2}]
    assert problems(panel(), rated, n_candidates=3) == [
        ("answers", "quality is not answered for position 1; answer it.")
    ]
    assert problems(panel(), [*rated, {**QUALITY, "position": 1}], n_candidates=3) == []


@pytest.mark.parametrize("position", [None, -1, 3, "0", True, 1.0, [1]])
def test_a_position_is_one_that_was_shown(position):
    found = problems(panel(required=False), [{**QUALITY, "position": position}], n_candidates=3)
    assert found == [("answers[0].position", "Give the candidate's position, 0 to 2.")]


def test_the_same_position_twice_is_a_problem():
    spec = panel(required=False)
    assert fields(spec, [{**QUALITY, "position": 1}] * 2, n_candidates=3) == ["answers[1]"]


def test_a_position_where_none_is_asked_for_is_a_problem():
    assert fields(protocol(question(required=False)), [{**QUALITY, "position": 0}]) == ["answers[0].position"]


# ── What an answer says in the task's own terms ──────────────────────────────


@pytest.mark.parametrize(
    ("choice", "presentation", "expected"),
    [
        ("A", [0, 1], FIRST),
        ("B", [0, 1], SECOND),
        ("A", [1, 0], SECOND),
        ("B", [1, 0], FIRST),
        ("tie", [1, 0], TIE),
        ("both_bad", [1, 0], BOTH_BAD),
    ],
)
def test_sides_become_slots(choice, presentation, expected):
    assert rules.canonical_choice(choice, presentation) == expected
    assert rules.shown_choice(expected, presentation) == choice


def test_positions_become_slots():
    rows = rules.canonical_answers(
        panel(),
        answers=[{**QUALITY, "position": p, "value": p + 1} for p in range(3)],
        presentation=[2, 0, 1],
    )
    assert [(row.slot, row.value) for row in rows] == [(2, 1.0), (0, 2.0), (1, 3.0)]


def test_an_answer_keeps_value_confidence_and_text():
    spec = protocol(question(confidence=CONFIDENCE), text())
    rows = rules.canonical_answers(
        spec,
        answers=[{**QUALITY, "confidence": 2}, {"question": "why", "text": " loud \n"}],
        presentation=[0],
    )
    assert rows == [
        CanonicalAnswer("quality", value=4.0, confidence=2.0),
        CanonicalAnswer("why", text="loud"),
    ]


def test_an_empty_text_is_no_answer():
    spec = protocol(text(required=False))
    assert rules.canonical_answers(spec, answers=[{"question": "why", "text": " "}], presentation=[0]) == []


# ── Whatever is sent ─────────────────────────────────────────────────────────

ANYTHING = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        5,
        10**400,
        2.5,
        float("nan"),
        float("inf"),
        "",
        "A",
        "tie",
        "quality",
        "better",
        "why",
        [1],
        {},
    ]
)
ANSWERS = st.lists(
    st.dictionaries(
        st.sampled_from(["question", "value", "choice", "confidence", "text", "position"]),
        ANYTHING,
        max_size=6,
    ),
    max_size=3,
)
MIXED = protocol(
    question(per_candidate=True, confidence=CONFIDENCE), preference(tie=True), text(), layout="comparison"
)


@given(ANSWERS)
def test_whatever_is_sent_gets_problems_and_never_an_exception(answers):
    for problem in rules.check_answers(MIXED, answers=answers, codes=[], comment="", n_candidates=2):
        assert problem.field.startswith("answers")
        assert problem.message


@given(
    presentation=st.permutations([0, 1]),
    values=st.tuples(*[st.sampled_from([p["value"] for p in SCALE])] * 2),
    choice=st.sampled_from(["A", "B", "tie"]),
)
def test_what_passes_the_check_can_be_stored_and_read_back(presentation, values, choice):
    answers: list[dict[str, Any]] = [
        {"question": "quality", "position": p, "value": value, "confidence": 1}
        for p, value in enumerate(values)
    ]
    answers += [{"question": "better", "choice": choice}, {"question": "why", "text": "x"}]
    assert problems(MIXED, answers, n_candidates=2) == []
    rows = rules.canonical_answers(MIXED, answers=answers, presentation=presentation)
    by_slot = {row.slot: row.value for row in rows if row.question == "quality"}
    assert [by_slot[slot] for slot in presentation] == list(values)
    (chosen,) = [row.choice for row in rows if row.question == "better"]
    assert rules.shown_choice(chosen, presentation) == choice
