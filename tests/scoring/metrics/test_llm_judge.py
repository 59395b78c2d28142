"""Direct prompting and the cascade: what is asked, what is read of the answers, and prompts that cannot be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.backbones.contract import AnswerTokens, GeneratedText, Hearing, YesNoLogProbs
from scoring.metrics import llm_judge, registry
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, ExampleError, Sound
from scoring.metrics.llm_judge import PROMPT_RULES, AnswerFormat, check_prompts, parse_answer
from scoring.metrics.registry import OptionError, Runtime, open_metric
from scoring.prompts import PromptError, parse, shipped
from tests.scoring.checkpoints import tiny_qwen_omni
from tests.scoring.sounds import sound


class Writer:
    """Writes `says(sounds' hashes, question)`; remembers each question with its system prompt in `asked`."""

    def __init__(
        self, says: Callable[[tuple[str, ...], str], str | GeneratedText | Exception], name: str = "writer"
    ) -> None:
        self.says = says
        self.identity: Mapping[str, Any] = {"backbone": name}
        self.asked: list[tuple[tuple[str, ...], str, str]] = []
        self.prepared: list[str] = []

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self.prepared += [sound.sha256 for sound in sounds]

    def answer_logprobs(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNoLogProbs] | Exception]:
        raise AssertionError("nothing here reads log-probabilities")

    def generate(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[GeneratedText] | Exception]:
        assert max_new_tokens == 512
        return [self._one(hearing, system) for hearing in hearings]

    def _one(self, hearing: Hearing, system: str) -> Sequence[GeneratedText] | Exception:
        heard = tuple(sound.sha256 for sound in hearing.sounds)
        said = []
        for question in hearing.questions:
            self.asked.append((heard, question, system))
            said.append(self.says(heard, question))
        fault = next((one for one in said if isinstance(one, Exception)), None)
        return fault or [one if isinstance(one, GeneratedText) else GeneratedText(str(one)) for one in said]


def named(name: str) -> Sound:
    return Sound(name, Path(f"{name}.wav"), 1.0)


def single(key: int, name: str, text: str) -> Example:
    return Example(key, (named(name),), (text,))


def two_sounds(key: int, first: str, second: str, text: str) -> Example:
    return Example(key, (named(first), named(second)), (text,))


def two_texts(key: int, name: str, first: str, second: str) -> Example:
    return Example(key, (named(name),), (first, second))


SCORE = PROMPT_RULES["prompting"]["relate"].answer
MATCH = PROMPT_RULES["prompting"]["two-sounds"].answer
ALL = ["prompting", "prompting-pairs", "cascade", "cascade-pairs"]

# ── answers ──


@pytest.mark.parametrize(
    ("answer", "line", "value"),
    [
        ("Score: 7", SCORE, 7.0),
        ("  Score: 0\n", SCORE, 0.0),
        ("Score: 7.5", SCORE, 7.5),
        ("Score:10", SCORE, 10.0),
        ("**Score: 8**", SCORE, 8.0),
        ("**Score:** 8", SCORE, 8.0),
        ("There is a dog, as the text says.\n\nScore: 8", SCORE, 8.0),
        ("Score: 8\nI repeat.\nScore: 8.0", SCORE, 8.0),
        ("Better Match: first audio", MATCH, 1.0),
        ("Because.\nBetter Match: Second audio", MATCH, 0.0),
    ],
)
def test_a_line_in_the_format_is_read_wherever_it_stands(answer, line, value):
    assert parse_answer(answer, line) == value


@pytest.mark.parametrize(
    ("what", "answers"),
    [
        ("no line", ["", "7", "It fits well. Score: 7", "score: 7", "The score is 7 out of 10."]),
        (
            "not “Score: <number from 0 to 10>",
            [f"Score: {text}" for text in ("<number>", "7/10", "7 or so", "eight", "７", "7,5", "1e1", "nan",
             "11", "-1", "", "7\nScore: high")],
        ),
        ("more than one", ["Score: 7\nScore: 8"]),
    ],
)  # fmt: skip
def test_what_is_not_in_the_format_is_never_guessed(what, answers):
    for answer in answers:
        with pytest.raises(ExampleError) as found:
            parse_answer(answer, SCORE)
        assert found.value.fault.code == "unparsable"
        assert what in found.value.fault.message


@pytest.mark.parametrize("words", ["first", "audio 1", "first audio."])
def test_a_choice_must_be_one_of_the_words(words):
    with pytest.raises(ExampleError, match="unparsable"):
        parse_answer(f"Better Match: {words}", MATCH)


def test_the_fault_shows_how_the_answer_begins():
    with pytest.raises(ExampleError) as found:
        parse_answer("I cannot\nrate this. " + "x" * 500, SCORE)
    assert "“I cannot rate this. xxx" in found.value.fault.message
    assert len(found.value.fault.message) < 300


@given(st.text(max_size=100) | st.from_regex(r"(Score: ?-?[0-9.]{0,4}\n?){1,2}"))
def test_any_text_gives_a_value_on_the_scale_or_a_fault(answer):
    with suppress(ExampleError):
        assert 0.0 <= parse_answer(answer, SCORE) <= 10.0


# ── prompts ──


@pytest.mark.parametrize("family", sorted(PROMPT_RULES))
def test_shipped_prompts_hold_all_that_is_needed_for_every_task_and_pair(family):
    prompts, rules = shipped(family), PROMPT_RULES[family]
    check_prompts(prompts, family)
    assert set(prompts.questions["ask"]) == set(prompts.questions["system"]) == set(rules)
    (task,) = (option for option in registry.entry(family).options if option.name == "task")
    assert set(rules) - set(task.choices) - {"caption"} == {"two-sounds", "two-texts"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (AnswerFormat("Score", low=1, high=5), "Score: <number>"),
        (AnswerFormat("Answer", {"preferred": 1.0, "rejected": 0.0}), "Answer: <preferred or rejected>"),
    ],
)
def test_a_prompt_without_its_line_is_told_the_line(line, said):
    assert line.line == said


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


@pytest.mark.parametrize(
    ("family", "definition"),
    [
        ("prompting", {"system": "End with Score: and a number.", "questions": {"ask": {"pam": "{text}?"}}}),
        ("another", {"questions": {"anything": {"at-all": "{x}"}}}),
    ],
    ids=["a file need not hold everything, and the system prompt may name the line", "other families' sets"],
)
def test_a_file_that_can_be_used_passes(family, definition):
    check_prompts(parse(definition), family)


# ── scores ──


@pytest.fixture
def opened(monkeypatch, tmp_path):
    def open_with(says, name="prompting", **options):
        writers = {"any": Writer(says), "judge": Writer(says, "judge")}
        monkeypatch.setattr(llm_judge, "open_backbone", lambda name, *, dtype, runtime: writers[name])
        return open_metric(name, {"backbone": "any", **options}, Runtime(tmp_path, 0)), writers["any"]

    return open_with


def captions_then(judgment):
    """Says "caption of NAME" of a sound, and `judgment` of what it is shown in writing."""
    return lambda heard, question: f"caption of {heard[0]}" if heard else judgment


def values(outcomes):
    return {
        outcome.key: outcome.fault.code if outcome.fault else next(iter(outcome.readings.values())).value
        for outcome in outcomes
    }


@pytest.mark.parametrize(
    ("task", "answer", "value", "anchor"),
    [
        ("relate", "Score: 8", 8.0, "\n8 – Has a few minor discrepancies\n"),
        ("pam", "Score: 4", 4.0, "\n4 (Very Good) "),
        ("baton", "Answer: rejected", 0.0, "\n- Rejected – "),
    ],
)
def test_each_task_asks_on_its_scale_and_reads_its_line(opened, task, answer, value, anchor):
    metric, writer = opened(lambda heard, question: answer, task=task)
    (outcome,) = metric.score([single(1, "a", "a dog {text} barks")])
    assert outcome.readings["score"].value == value
    assert outcome.readings["score"].provenance == {"answer": answer}
    ((heard, question, system),) = writer.asked
    assert heard == ("a",)
    assert "\nDescription: a dog {text} barks\n" in question
    assert anchor in question
    assert system


@pytest.mark.parametrize(
    ("task", "judgment", "value"),
    [("relate", "Score: 8", 8.0), ("pam", "Score: 2", 2.0), ("baton", "Decision: preferred", 1.0)],
)
def test_a_caption_is_judged_against_the_text_by_text_alone(opened, task, judgment, value):
    metric, writer = opened(captions_then(judgment), "cascade", task=task)
    (outcome,) = metric.score([single(1, "a", "rain on a roof")])
    assert outcome.readings["score"].value == value
    assert outcome.readings["score"].provenance == {"captions": ["caption of a"], "answer": judgment}
    (_, _, listening), (heard, question, judging) = writer.asked
    assert heard == ()
    assert "- Ground-truth description:\nrain on a roof\n- Audio caption:\ncaption of a\n" in question
    assert listening != judging


def test_pairs_of_sounds_and_pairs_of_texts_go_under_their_own_prompts(opened):
    def says(heard, question):
        return "Better Match: first audio" if len(heard) == 2 else "He is right.\nBetter Caption: 2"

    metric, writer = opened(says, "prompting-pairs")
    outcomes = metric.score([two_texts(1, "a", "rain", "wind"), two_sounds(2, "a", "b", "rain")])
    assert values(outcomes) == {1: 0.0, 2: 1.0}
    asked = {heard: (question, system) for heard, question, system in writer.asked}
    assert "- Caption 1:\nrain\n- Caption 2:\nwind\n" in asked["a",][0]
    assert asked["a", "b"][0].startswith("Given the text description: rain\n")
    assert asked["a",][1] != asked["a", "b"][1]


@pytest.mark.parametrize(
    ("example", "captions", "shown"),
    [
        (
            two_sounds(1, "a", "b", "rain"),
            ["caption of a", "caption of b"],
            "description:\nrain\n- Audio caption 1:\ncaption of a\n- Audio caption 2:\ncaption of b\n",
        ),
        (
            two_texts(1, "a", "rain", "wind"),
            ["caption of a"],
            "description:\ncaption of a\n- Audio caption 1:\nrain\n- Audio caption 2:\nwind\n",
        ),
    ],
    ids=["two sounds by their captions", "two texts with the caption of their sound"],
)
def test_pairs_are_compared_in_writing(opened, example, captions, shown):
    metric, writer = opened(captions_then("Shorter is better.\nBetter Caption: 1"), "cascade-pairs")
    (outcome,) = metric.score([example])
    assert outcome.readings["preference"].value == 1.0
    assert outcome.readings["preference"].provenance["captions"] == captions
    assert shown in writer.asked[-1][1]


def test_answers_out_of_the_format_are_faults_of_their_rows(opened):
    said = {"a": "Score: 5", "b": "quite well", "c": ExampleError("undecodable", "damaged"), "d": "Score: 6"}
    metric, _ = opened(lambda heard, question: said[heard[0]], task="pam")
    outcomes = metric.score([single(key, name, "text") for key, name in enumerate("abcd")])
    assert values(outcomes) == {0: 5.0, 1: "unparsable", 2: "undecodable", 3: "unparsable"}


def test_a_judgment_that_was_cut_off_is_not_read(opened):
    said = {"a": GeneratedText("Score: 1", cut=True), "b": GeneratedText("Score: 10")}
    metric, _ = opened(lambda heard, question: said[heard[0]])
    cut, whole = metric.score([single(1, "a", "text"), single(2, "b", "text")])
    assert cut.fault.code == "unparsable"
    assert "was cut off before its end" in cut.fault.message
    assert whole.readings["score"].value == 10.0


def test_faults_of_either_stage_stay_with_their_rows(opened):
    said = {("broken",): ExampleError("undecodable", "damaged"), ("silent",): "  ", ("a",): "a caption"}
    metric, _ = opened(
        lambda heard, question: said[heard] if heard else "?" if "riddle" in question else "Score: 9",
        "cascade",
    )
    examples = [
        single(1, "broken", "x"),
        single(2, "silent", "x"),
        single(3, "a", "riddle"),
        single(4, "a", "x"),
    ]
    assert values(metric.score(examples)) == {1: "undecodable", 2: "unparsable", 3: "unparsable", 4: 9.0}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("example", "code"),
    [(Example(1, (), ("text",)), "no_sound"), (Example(1, (named("a"),), ()), "no_text")],
)
def test_an_example_without_its_parts_is_told_so_and_nothing_is_asked(opened, name, example, code):
    metric, writer = opened(captions_then("Score: 1"), name)
    assert values(metric.score([example])) == {1: code}
    assert not writer.asked


def test_a_sound_is_captioned_once_for_all_its_rows_and_batches(opened):
    metric, writer = opened(captions_then("Score: 5"), "cascade")
    metric.score([single(1, "a", "rain"), single(2, "a", "wind"), single(3, "b", "rain")])
    metric.prepare([single(4, "b", "wind"), single(5, "c", "wind")])
    metric.score([single(4, "b", "wind"), single(5, "c", "wind")])
    captioned = Counter(heard for heard, _, _ in writer.asked if heard)
    assert captioned == {("a",): 1, ("b",): 1, ("c",): 1}
    assert writer.prepared == ["c"]


def test_a_caption_that_was_cut_off_is_judged_and_marked_for_all_its_rows(opened):
    said = {("a",): GeneratedText("rain on a", cut=True), ("b",): GeneratedText("rain"), (): "Score: 5"}
    metric, _ = opened(lambda heard, question: said[heard], "cascade")
    for _ in range(2):
        cut, whole = (
            one.readings["score"].provenance
            for one in metric.score([single(1, "a", "x"), single(2, "b", "x")])
        )
        assert cut == {"captions": ["rain on a"], "answer": "Score: 5", "cut": True}
        assert "cut" not in whole


def test_what_failed_is_captioned_again_the_next_time(opened):
    said = iter([ExampleError("server_unreachable", "gone"), "a caption", "Score: 1"])
    metric, _ = opened(lambda heard, question: next(said), "cascade")
    assert values(metric.score([single(1, "a", "x")])) == {1: "server_unreachable"}
    assert values(metric.score([single(1, "a", "x")])) == {1: 1.0}


def test_another_model_may_judge(opened):
    metric, writer = opened(captions_then("Score: 5"), "cascade", judge="judge")
    assert values(metric.score([single(1, "a", "rain")])) == {1: 5.0}
    assert [heard for heard, _, _ in writer.asked] == [("a",)]
    assert metric.identity["judge"] == {"backbone": "judge"}
    assert metric.identity["backbone"] == {"backbone": "writer"}


def test_a_study_brings_its_own_prompts(opened):
    own = {"system": "Be brief.", "questions": {"ask": {"relate": "{text}? Write Score: and a number."}}}
    metric, writer = opened(lambda heard, question: "Score: 3", prompts=own)
    assert values(metric.score([single(1, "a", "rain")])) == {1: 3.0}
    assert writer.asked == [(("a",), "rain? Write Score: and a number.", "Be brief.")]
    assert metric.identity["prompts"]["relate"]["system"] == "Be brief."


def test_another_wording_is_another_metric(opened):
    own = {"questions": {"ask": {"relate": "{text} Score: "}}}
    shipped_, written, again = (
        opened(lambda heard, question: "", **options)[0].identity for options in ({}, {"prompts": own}, {})
    )
    assert shipped_ == again != written


@pytest.mark.parametrize(
    ("name", "ask", "place"),
    [
        ("prompting", {"pam": "{text} Score: "}, "questions.ask.relate: missing"),
        ("prompting", {"relate": "Score: "}, "questions.ask.relate: must hold {text}"),
        ("prompting", {"relate": "{text} {caption} Score: "}, "questions.ask.relate: must hold {text}"),
        ("prompting", {"relate": "{text}?"}, "questions.ask.relate: must ask for a line “Score: <number"),
        ("prompting", {"relate": ""}, "questions.ask.relate: is empty"),
        (
            "cascade",
            {"relate": "{ground_truth_description} {audio_caption} Score: "},
            "questions.ask.caption: missing",
        ),
    ],
)
def test_prompts_that_cannot_work_are_refused_when_opening(opened, name, ask, place):
    with pytest.raises(OptionError) as found:
        opened(captions_then(""), name, prompts={"questions": {"ask": ask}})
    assert found.value.option == "prompts"
    assert found.value.message.startswith(place)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    return str(tiny_qwen_omni(tmp_path_factory.mktemp("writing") / "checkpoint"))


@pytest.mark.parametrize("name", ALL)
def test_a_model_on_this_machine_that_babbles_leaves_faults_that_show_it(
    name, checkpoint, tmp_path, monkeypatch
):
    monkeypatch.setattr(llm_judge, "MAX_NEW_TOKENS", 8)
    heard = tuple(sound(tmp_path, seconds=0.5, seed=seed) for seed in (1, 2))
    metric = open_metric(name, {"backbone": checkpoint}, Runtime(tmp_path / "cache", 10_000_000, "cpu"))
    parts = heard if name.endswith("pairs") else heard[:1]
    outcomes = score_batch(metric, [Example(1, parts, ("rain",)), Example(2, parts, ("wind",))])
    assert values(outcomes) == {1: "unparsable", 2: "unparsable"}
    assert "It begins: “" in outcomes[0].fault.message
