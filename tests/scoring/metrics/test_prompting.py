from __future__ import annotations

import wave

import numpy as np
import pytest

from scoring.backbones.contract import GeneratedText
from scoring.metrics import cascade, llm_judge, prompting
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, ExampleError, Sound
from scoring.metrics.registry import OptionError, Runtime, open_metric
from tests.scoring.checkpoints import tiny_qwen_omni
from tests.scoring.metrics.writers import Writer, single, sound, two_sounds, two_texts


@pytest.fixture
def opened(monkeypatch, tmp_path):
    def open_with(says, name="prompting", **options):
        writer = Writer(says)
        monkeypatch.setattr(prompting, "open_backbone", lambda name, *, dtype, runtime: writer)
        return open_metric(name, {"backbone": "any", **options}, Runtime(tmp_path, 0)), writer

    return open_with


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
    ("example", "code"),
    [(Example(1, (), ("text",)), "no_sound"), (Example(1, (sound("a"),), ()), "no_text")],
)
@pytest.mark.parametrize("name", ["prompting", "prompting-pairs"])
def test_an_example_without_its_parts_is_told_so_and_nothing_is_asked(opened, name, example, code):
    metric, writer = opened(lambda heard, question: "Score: 1", name)
    assert values(metric.score([example])) == {1: code}
    assert not writer.asked


def test_a_study_brings_its_own_prompts(opened):
    own = {"system": "Be brief.", "questions": {"ask": {"relate": "{text}? Write Score: and a number."}}}
    metric, writer = opened(lambda heard, question: "Score: 3", prompts=own)
    assert values(metric.score([single(1, "a", "rain")])) == {1: 3.0}
    assert writer.asked == [(("a",), "rain? Write Score: and a number.", "Be brief.")]
    assert metric.identity["prompts"]["relate"]["system"] == "Be brief."


@pytest.mark.parametrize(
    ("ask", "place"),
    [
        ({"pam": "{text} Score: "}, "questions.ask.relate: missing"),
        ({"relate": "Score: "}, "questions.ask.relate: must hold {text}"),
        ({"relate": "{text} {caption} Score: "}, "questions.ask.relate: must hold {text}"),
        ({"relate": "{text}, from 0 to 10?"}, "questions.ask.relate: must ask for a line “Score: <number"),
        ({"relate": ""}, "questions.ask.relate: is empty"),
    ],
)
def test_prompts_that_cannot_work_are_refused_when_opening(opened, ask, place):
    with pytest.raises(OptionError) as found:
        opened(lambda heard, question: "", prompts={"questions": {"ask": ask}})
    assert found.value.option == "prompts"
    assert found.value.message.startswith(place)


def test_another_wording_is_another_metric(opened):
    own = {"questions": {"ask": {"relate": "{text} Score: "}}}
    identities = [
        opened(lambda heard, question: "", **options)[0].identity for options in ({}, {"prompts": own})
    ]
    assert identities[0] != identities[1]
    assert identities[0] == opened(lambda heard, question: "")[0].identity


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory) -> str:
    return str(tiny_qwen_omni(tmp_path_factory.mktemp("writing") / "checkpoint"))


@pytest.mark.parametrize("name", ["prompting", "prompting-pairs", "cascade", "cascade-pairs"])
def test_a_model_on_this_machine_that_babbles_leaves_faults_that_show_it(
    name, checkpoint, tmp_path, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(llm_judge, "MAX_NEW_TOKENS", 8)
    monkeypatch.setattr(cascade, "MAX_NEW_TOKENS", 8)
    heard = (
        Sound("1" * 64, noise(tmp_path / "1.wav", 1), 0.5),
        Sound("2" * 64, noise(tmp_path / "2.wav", 2), 0.5),
    )
    metric = open_metric(name, {"backbone": checkpoint}, Runtime(tmp_path / "cache", 10_000_000, "cpu"))
    parts = heard if name.endswith("pairs") else heard[:1]
    outcomes = score_batch(metric, [Example(1, parts, ("rain",)), Example(2, parts, ("wind",))])
    assert values(outcomes) == {1: "unparsable", 2: "unparsable"}
    assert "It begins: “" in outcomes[0].fault.message


def noise(path, seed):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(np.random.default_rng(seed).normal(0, 3000, 8_000).astype("<i2").tobytes())
    return path
