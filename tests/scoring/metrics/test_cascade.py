from __future__ import annotations

from collections import Counter

import pytest

from scoring.backbones.contract import GeneratedText
from scoring.metrics import cascade
from scoring.metrics.contract import Example, ExampleError
from scoring.metrics.registry import OptionError, Runtime, open_metric
from tests.scoring.metrics.test_prompting import values
from tests.scoring.metrics.writers import Writer, single, sound, two_sounds, two_texts


def captions_then(judgment):
    """Says "caption of NAME" of a sound, and `judgment` of what it is shown in writing."""
    return lambda heard, question: f"caption of {heard[0]}" if heard else judgment


@pytest.fixture
def opened(monkeypatch, tmp_path):
    def open_with(says, name="cascade", **options):
        writers = {"any": Writer(says), "judge": Writer(says, "judge")}
        monkeypatch.setattr(cascade, "open_backbone", lambda name, *, dtype, runtime: writers[name])
        return open_metric(name, {"backbone": "any", **options}, Runtime(tmp_path, 0)), writers

    return open_with


@pytest.mark.parametrize(
    ("task", "judgment", "value"),
    [("relate", "Score: 8", 8.0), ("pam", "Score: 2", 2.0), ("baton", "Decision: preferred", 1.0)],
)
def test_a_caption_is_judged_against_the_text_by_text_alone(opened, task, judgment, value):
    metric, writers = opened(captions_then(judgment), task=task)
    (outcome,) = metric.score([single(1, "a", "rain on a roof")])
    assert outcome.readings["score"].value == value
    assert outcome.readings["score"].provenance == {"captions": ["caption of a"], "answer": judgment}
    (_, _, listening), (heard, question, judging) = writers["any"].asked
    assert heard == ()
    assert "- Ground-truth description:\nrain on a roof\n- Audio caption:\ncaption of a\n" in question
    assert listening != judging


def test_a_sound_is_captioned_once_for_all_its_rows_and_batches(opened):
    metric, writers = opened(captions_then("Score: 5"))
    metric.score([single(1, "a", "rain"), single(2, "a", "wind"), single(3, "b", "rain")])
    metric.prepare([single(4, "b", "wind"), single(5, "c", "wind")])
    metric.score([single(4, "b", "wind"), single(5, "c", "wind")])
    captioned = Counter(heard for heard, _, _ in writers["any"].asked if heard)
    assert captioned == {("a",): 1, ("b",): 1, ("c",): 1}
    assert writers["any"].prepared == ["c"]


def test_a_caption_that_was_cut_off_is_judged_and_marked_for_all_its_rows(opened):
    said = {("a",): GeneratedText("rain on a", cut=True), ("b",): GeneratedText("rain"), (): "Score: 5"}
    metric, _ = opened(lambda heard, question: said[heard])
    for _ in range(2):
        cut, whole = metric.score([single(1, "a", "rain"), single(2, "b", "rain")])
        assert cut.readings["score"].provenance == {
            "captions": ["rain on a"],
            "answer": "Score: 5",
            "cut": True,
        }
        assert "cut" not in whole.readings["score"].provenance


def test_two_sounds_are_compared_by_their_captions(opened):
    metric, writers = opened(captions_then("Better Caption: 2"), "cascade-pairs")
    (outcome,) = metric.score([two_sounds(1, "a", "b", "rain")])
    assert outcome.readings["preference"].value == 0.0
    assert outcome.readings["preference"].provenance["captions"] == ["caption of a", "caption of b"]
    shown = "description:\nrain\n- Audio caption 1:\ncaption of a\n- Audio caption 2:\ncaption of b\n"
    assert shown in writers["any"].asked[-1][1]


def test_two_texts_are_compared_with_the_caption_of_their_sound(opened):
    metric, writers = opened(captions_then("Shorter is better.\nBetter Caption: 1"), "cascade-pairs")
    assert values(metric.score([two_texts(1, "a", "rain", "wind")])) == {1: 1.0}
    shown = "description:\ncaption of a\n- Audio caption 1:\nrain\n- Audio caption 2:\nwind\n"
    assert shown in writers["any"].asked[-1][1]


def test_faults_of_either_stage_stay_with_their_rows(opened):
    def says(heard, question):
        if heard == ("broken",):
            return ExampleError("undecodable", "damaged")
        if heard:
            return "  " if heard == ("silent",) else "a caption"
        return "no idea" if "riddle" in question else "Score: 9"

    metric, _ = opened(says)
    examples = [
        single(1, "broken", "x"),
        single(2, "silent", "x"),
        single(3, "a", "riddle"),
        single(4, "a", "x"),
    ]
    assert values(metric.score(examples)) == {1: "undecodable", 2: "unparsable", 3: "unparsable", 4: 9.0}


def test_what_failed_is_captioned_again_the_next_time(opened):
    said = iter([ExampleError("server_unreachable", "gone"), "a caption", "Score: 1"])
    metric, _ = opened(lambda heard, question: next(said))
    assert values(metric.score([single(1, "a", "x")])) == {1: "server_unreachable"}
    assert values(metric.score([single(1, "a", "x")])) == {1: 1.0}


def test_another_model_may_judge(opened):
    metric, writers = opened(captions_then("Score: 5"), judge="judge")
    metric.score([single(1, "a", "rain")])
    assert [len(writers[name].asked) for name in ("any", "judge")] == [1, 1]
    assert metric.identity["judge"] == {"backbone": "judge"}
    assert metric.identity["backbone"] == {"backbone": "writer"}


@pytest.mark.parametrize("name", ["cascade", "cascade-pairs"])
@pytest.mark.parametrize(
    ("example", "code"),
    [(Example(1, (), ("text",)), "no_sound"), (Example(1, (sound("a"),), ()), "no_text")],
)
def test_an_example_without_its_parts_is_told_so_and_nothing_is_asked(opened, name, example, code):
    metric, writers = opened(captions_then("Score: 1"), name)
    assert values(metric.score([example])) == {1: code}
    assert not writers["any"].asked


def test_prompts_must_ask_for_captions_too(opened):
    own = {"questions": {"ask": {"relate": "{ground_truth_description} {audio_caption} Score: "}}}
    with pytest.raises(OptionError, match=r"questions.ask.caption: missing"):
        opened(captions_then(""), prompts=own)
