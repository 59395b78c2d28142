from __future__ import annotations

import pytest

from scoring.metrics import cascade, llm_judge, prompting, registry
from scoring.metrics.llm_judge import parse_answer
from scoring.prompts import PromptError, parse, shipped
from scoring.prompts.prompt_files import PROMPT_RULES, check_prompts, question_of


@pytest.mark.parametrize("family", sorted(PROMPT_RULES))
def test_what_comes_along_holds_all_that_is_needed(family):
    prompts = shipped(family)
    check_prompts(prompts, family)
    for key in PROMPT_RULES[family]:
        assert question_of(prompts, family, key)
        assert prompts.questions["system"][key]


FIRST = {"<number>": "1", "<preferred or rejected>": "preferred", "<1 or 2>": "1",
         "<first audio or second audio>": "first audio"}  # fmt: skip


@pytest.mark.parametrize(("family", "module"), [("prompting", prompting), ("cascade", cascade)])
def test_the_lines_asked_for_are_the_lines_that_are_read(family, module):
    two_sounds = {"prompting": prompting.BETTER_MATCH_FORMAT, "cascade": llm_judge.BETTER_CAPTION_FORMAT}[
        family
    ]
    lines = {**module.ANSWER_FORMATS, "two-sounds": two_sounds, "two-texts": llm_judge.BETTER_CAPTION_FORMAT}
    assert {key for key, need in PROMPT_RULES[family].items() if need.line} == set(lines)
    for key, line in lines.items():
        label, form = PROMPT_RULES[family][key].line.split(": ")
        assert parse_answer(f"{label}: {FIRST[form]}", line) == 1.0


def test_every_task_that_can_be_chosen_has_its_question():
    for family in PROMPT_RULES:
        (task,) = (option for option in registry.entry(family).options if option.name == "task")
        assert set(task.choices) < set(PROMPT_RULES[family])


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
        check_prompts(parse({"questions": questions}), "prompting")
    assert str(found.value).startswith(place)


def test_a_file_need_not_hold_everything_and_the_system_prompt_may_name_the_line():
    check_prompts(
        parse({"system": "End with Score: and a number.", "questions": {"ask": {"pam": "{text}?"}}}),
        "prompting",
    )


def test_other_scorers_choose_their_own_sets():
    check_prompts(parse({"questions": {"anything": {"at-all": "{x}"}}}), "another")
