from __future__ import annotations

import pytest

from scoring.metrics import cascade, judging, prompting, registry
from scoring.metrics.answers import read
from scoring.prompts import PromptError, parse, shipped
from scoring.prompts.needs import NEEDS, check, question


@pytest.mark.parametrize("family", sorted(NEEDS))
def test_what_comes_along_holds_all_that_is_needed(family):
    prompts = shipped(family)
    check(prompts, family)
    for key in NEEDS[family]:
        assert question(prompts, family, key)
        assert prompts.questions["system"][key]


FIRST = {"<number>": "1", "<preferred or rejected>": "preferred", "<1 or 2>": "1",
         "<first audio or second audio>": "first audio"}  # fmt: skip


@pytest.mark.parametrize(("family", "module"), [("prompting", prompting), ("cascade", cascade)])
def test_the_lines_asked_for_are_the_lines_that_are_read(family, module):
    two_sounds = {"prompting": prompting.BETTER_MATCH, "cascade": judging.BETTER_CAPTION}[family]
    lines = {**module.LINES, "two-sounds": two_sounds, "two-texts": judging.BETTER_CAPTION}
    assert {key for key, need in NEEDS[family].items() if need.line} == set(lines)
    for key, line in lines.items():
        label, form = NEEDS[family][key].line.split(": ")
        assert read(f"{label}: {FIRST[form]}", line) == 1.0


def test_every_task_that_can_be_chosen_has_its_question():
    for family in NEEDS:
        (task,) = (option for option in registry.entry(family).options if option.name == "task")
        assert set(task.choices) < set(NEEDS[family])


@pytest.mark.parametrize(
    ("questions", "place"),
    [
        ({"task": {"relate": "{text} Score: "}}, "questions.task: not known here"),
        ({"ask": {"related": "{text} Score: "}}, "questions.ask.related: not known here"),
        (
            {"ask": {"relate": "{text} Score: "}, "system": {"caption": "x"}},
            "questions.system.caption: not known here",
        ),
        ({"ask": {"relate": "{caption} Score: "}}, "questions.ask.relate: must hold {text}"),
        ({"ask": {"relate": "{text}"}}, "questions.ask.relate: must ask for a line “Score: <number>”"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(questions, place):
    with pytest.raises(PromptError) as found:
        check(parse({"questions": questions}), "prompting")
    assert str(found.value).startswith(place)


def test_a_file_need_not_hold_everything_and_the_system_prompt_may_name_the_line():
    check(
        parse({"system": "End with Score: and a number.", "questions": {"ask": {"pam": "{text}?"}}}),
        "prompting",
    )


def test_other_scorers_choose_their_own_sets():
    check(parse({"questions": {"anything": {"at-all": "{x}"}}}), "another")
