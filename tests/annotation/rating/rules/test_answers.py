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


OPTIONAL = protocol(question(required=False), text(required=False))
SURE = protocol(question(confidence=CONFIDENCE))
CODES = [{"key": "U", "title": "Unable"}, {"key": "A", "title": "Audio"}]
EXCUSED = protocol(question(excused_by=["U"]), codes=CODES)
SLIDER = protocol(question(points=[], minimum=0, maximum=100, level="interval"))


def pairs(**more):
    return protocol(preference(**more), layout="comparison")


def panel(**more):
    return protocol(question(per_candidate=True, **more), layout="panel", candidates=[2, 3])


def rated(value: object, **more: object) -> list[dict[str, Any]]:
    return [{**QUALITY, "value": value, **more}]


def chosen(choice: object) -> list[dict[str, Any]]:
    return [{"question": "better", "choice": choice}]


@pytest.mark.parametrize(
    ("spec", "answers", "more"),
    [
        pytest.param(protocol(), [QUALITY], {}, id="complete"),
        pytest.param(OPTIONAL, [], {}, id="nothing is required"),
        *(pytest.param(SLIDER, rated(value), {}, id=f"slider at {value}") for value in (0, 33.3, 100)),
        *(
            pytest.param(pairs(tie=True, both_bad=True), chosen(choice), {"n_candidates": 2}, id=choice)
            for choice in ("A", "B", "tie", "both_bad")
        ),
        pytest.param(SURE, rated(4, confidence=5), {}, id="with the confidence asked for"),
        pytest.param(
            protocol(question(confidence={**CONFIDENCE, "required": False})), [QUALITY], {}, id="not sure"
        ),
        pytest.param(OPTIONAL, [{"question": "why", "text": ""}], {}, id="an optional text may be empty"),
        pytest.param(EXCUSED, [], {"codes": ["U"]}, id="a code excuses"),
        pytest.param(EXCUSED, [QUALITY], {"codes": ["U"]}, id="excused and answered nevertheless"),
        pytest.param(protocol(), [QUALITY], {"comment": "x" * 4000}, id="a comment of its length"),
        pytest.param(
            panel(), [{**QUALITY, "position": n} for n in (0, 2, 1)], {"n_candidates": 3}, id="each candidate"
        ),
    ],
)
def test_what_is_complete_and_valid_has_no_problem(spec, answers, more):
    assert problems(spec, answers, **more) == []


@pytest.mark.parametrize(
    ("spec", "answers", "more", "expected"),
    [
        (OPTIONAL, [{"question": "?"}], {}, ("answers[0].question", "This protocol asks quality, why.")),
        (protocol(), [QUALITY, QUALITY], {}, ("answers[1]", "quality is answered twice.")),
        (protocol(), [], {}, ("answers", "quality is not answered; answer it.")),
        (SURE, [QUALITY], {}, ("answers[0].confidence", "Say how sure you are: 1, 2, 3, 4, 5.")),
        (protocol(), rated(4, confidence=3), {}, ("answers[0].confidence", "quality asks for no confidence.")),
        (protocol(codes=CODES), [QUALITY], {"codes": ["A", "Z"]}, ("codes[1]", "'Z' is not one of U, A.")),
        (protocol(codes=CODES), [QUALITY], {"codes": ["A", "A"]}, ("codes", "A code is given twice.")),
        (EXCUSED, [], {"codes": ["A"]}, ("answers", "quality is not answered; answer it, or give code U.")),
        (
            panel(), [{**QUALITY, "position": n} for n in (0, 2)], {"n_candidates": 3},
            ("answers", "quality is not answered for position 1; answer it."),
        ),
    ],
)  # fmt: skip
def test_a_problem_is_said_in_words_at_its_field(spec, answers, more, expected):
    assert problems(spec, answers, **more) == [expected]


@pytest.mark.parametrize(
    ("spec", "answers", "more", "field"),
    [
        (OPTIONAL, [{}], {}, "answers[0].question"),
        (EXCUSED, rated(9), {"codes": ["U"]}, "answers[0].value"),
        (protocol(), [QUALITY], {"codes": ["U"]}, "codes[0]"),
        (protocol(), [QUALITY], {"comment": "x" * 4001}, "comment"),
        (panel(required=False), [{**QUALITY, "position": 1}] * 2, {"n_candidates": 3}, "answers[1]"),
        (OPTIONAL, [{**QUALITY, "position": 0}], {}, "answers[0].position"),
        *((SURE, rated(4, confidence=c), {}, "answers[0].confidence") for c in (0, 6, "5", True, float("nan"))),
    ],
)  # fmt: skip
def test_a_problem_is_told_at_its_field(spec, answers, more, field):
    assert fields(spec, answers, **more) == [field]


def test_every_problem_is_told_not_only_the_first():
    answers = [{"question": "quality", "value": 9}, {"question": "why", "text": " "}]
    expected = ["answers[0].value", "answers[1].text", "codes[0]"]
    assert fields(protocol(question(), text()), answers, codes=["Z"]) == expected


NO_NUMBERS = [None, "4", True, False, float("nan"), float("inf"), 10**400, [4], {}]


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        *((protocol(), value, "Give a number.") for value in NO_NUMBERS),
        *((protocol(), value, f"{value} is not on the scale 1, 2, 3, 4, 5.") for value in (0, 6, 3.5, -1)),
        *((SLIDER, value, f"{value} is outside 0.0 to 100.0.") for value in (-0.1, 100.1)),
    ],
)
def test_a_rating_is_a_finite_number_on_its_scale(spec, value, message):
    assert problems(spec, rated(value)) == [("answers[0].value", message)]


@pytest.mark.parametrize("choice", [None, "a", "C", "tie", "both_bad", 1, ["A"]])
def test_a_preference_is_one_of_the_choices_offered(choice):
    assert problems(pairs(), chosen(choice), n_candidates=2) == [("answers[0].choice", "Choose one of A, B.")]


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


@pytest.mark.parametrize("position", [None, -1, 3, "0", True, 1.0, [1]])
def test_a_position_is_one_that_was_shown(position):
    found = problems(panel(required=False), rated(4, position=position), n_candidates=3)
    assert found == [("answers[0].position", "Give the candidate's position, 0 to 2.")]


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

NUMBERS = [-1, 0, 1, 5, 10**400, 2.5, float("nan"), float("inf")]
WORDS = ["", "A", "tie", "quality", "better", "why"]
ANYTHING = st.sampled_from([None, True, *NUMBERS, *WORDS, [1], {}])
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
