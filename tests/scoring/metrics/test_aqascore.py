from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scoring.backbones.contract import AnswerTokens, Hearing, YesNoLogProbs
from scoring.metrics import aqascore
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, ExampleError, Sound, deciding_identity
from scoring.metrics.registry import OptionError, Runtime, open_metric
from scoring.prompts import parse, shipped
from tests.scoring.checkpoints import tiny_qwen_omni
from tests.scoring.sounds import sound

A, B = (Sound(name * 64, Path(f"{name}.wav"), 1.0) for name in "ab")


class Believer:
    """Believes what it is told: log p(Yes) is the number in the question, more by 0.1 for sound B."""

    identity = {"model": "believer"}

    def __init__(self) -> None:
        self.hearings: list[Hearing] = []
        self.told: list[tuple[str, AnswerTokens]] = []

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self.prepared = list(sounds)

    def answer_logprobs(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Any]:
        self.hearings, self.told = list(hearings), [*self.told, (system, answers)]
        return [self._answer(hearing) for hearing in hearings]

    def _answer(self, hearing: Hearing) -> Any:
        if "broken" in hearing.questions[0]:
            return ExampleError("undecodable", "It is broken.")
        return [self._believe(question, hearing.sounds[0]) for question in hearing.questions]

    def _believe(self, question: str, heard: Sound) -> YesNoLogProbs:
        number = next(float(word) for word in question.replace("?", " ").split() if word.isdigit())
        return YesNoLogProbs(
            number - len(question) / 1000 + (0.1 if heard is B else 0.0), -1.0, ("no",) if number > 8 else ()
        )


@pytest.fixture
def believer(monkeypatch: pytest.MonkeyPatch) -> Believer:
    found = Believer()
    for module in (aqascore, aqascore):
        monkeypatch.setattr(module, "open_backbone", lambda name, dtype, runtime: found)
    return found


def opened(name: str = "aqascore", **options: Any) -> Any:
    return open_metric(name, {"backbone": "any", **options}, Runtime(Path("cache"), 0))


def pair(sounds: tuple[Sound, ...], *texts: str) -> Example:
    return Example(1, sounds, texts)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_a_score_is_the_probability_of_yes_against_no(believer):
    (outcome,) = opened().score([pair((A,), "2")])
    (question,) = believer.hearings[0].questions
    assert question == (
        "Does this audio contain the sound events described by the text: 2? Please answer yes or no."
    )
    (found,) = outcome.readings.values()
    assert found.value == pytest.approx(sigmoid(found.distribution["yes"] - found.distribution["no"]))
    assert found.distribution["no"] == -1.0
    assert believer.told == [(shipped("aqascore").system, AnswerTokens())]


@pytest.mark.parametrize("difference", [-1000.0, -40.0, 0.0, 40.0, 1000.0])
def test_no_difference_is_too_large(difference):
    value = aqascore.yes_probability(YesNoLogProbs(difference, 0.0))
    assert value == pytest.approx(sigmoid(difference) if abs(difference) < 100 else float(difference > 0))


def test_all_is_the_nine_templates_of_the_paper_with_their_mean_and_spread(believer):
    (outcome,) = opened(template="all").score([pair((A,), "1")])
    readings = dict(outcome.readings)
    mean, spread = readings.pop("mean"), readings.pop("spread")
    values = [found.value for found in readings.values()]
    assert len(values) == 9
    assert len(set(believer.hearings[0].questions)) == 9
    assert mean.value == pytest.approx(statistics.fmean(values))
    assert spread.value == pytest.approx(statistics.stdev(values))
    assert spread.value > 0


def test_templates_are_chosen_by_name_and_from_other_sets_too(believer):
    metric = opened(template=["heard", "compa.heard", "table-29.default"])
    (outcome,) = metric.score([pair((A,), "1")])
    assert list(outcome.readings) == ["heard", "compa.heard", "table-29.default", "mean", "spread"]
    assert believer.hearings[0].questions[1:] == (
        "Are the sound events described by 1 heard in the audio? Please answer yes or no.",
        "Does the audio contain the sound events described by the text: 1? Please answer yes or no.",
    )
    assert len(opened(template=["compa.all"]).identity["templates"]) == 9


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("nonsense", "no such question"),
        ("compo.heard", "no set 'compo'"),
        ("captions.default", "must hold {text}"),
    ],
)
def test_a_template_that_cannot_be_asked_is_refused(believer, template, said):
    with pytest.raises(OptionError, match=said):
        opened(template=template)


def test_every_template_asks_for_yes_or_no_and_stands_in_the_set_of_its_placeholders():
    sets = shipped("aqascore").questions
    assert {name: len(entries) for name, entries in sets.items()} == {
        "text": 9, "table-29": 9, "compa": 9, "captions": 6, "captions-brace": 7,
    }  # fmt: skip
    for name, entries in sets.items():
        for text in entries.values():
            assert text.endswith("? Please answer yes or no.")
            assert ("{text1}" in text and "{text2}" in text) == name.startswith("captions")


def test_a_study_may_bring_its_own_prompts(believer):
    prompts = {"system": "Hear.", "questions": {"text": {"default": "Is it {text}?"}}}
    metric = opened(prompts=prompts)
    metric.score([pair((A,), "3")])
    assert believer.hearings[0].questions == ("Is it 3?",)
    assert believer.told[0][0] == "Hear."
    assert metric.identity != opened().identity


def test_a_version_goes_by_the_words_it_uses_and_names_the_set_that_they_are_from(believer):
    prompts = {"system": "Hear.", "questions": {"text": {"default": "Is it {text}?"}}}
    named = opened(prompts={**prompts, "name": "transcribed"}).identity
    other = opened(prompts={**prompts, "source": "A book."}).identity
    assert named["prompt_set"]["name"] == "transcribed"
    assert named["prompt_set"]["sha256"] == parse(prompts).sha256
    assert named != other
    assert deciding_identity(named) == deciding_identity(other)
    assert opened().identity["prompt_set"] == {"name": "aqascore", "sha256": shipped("aqascore").sha256}


def test_the_paper_s_row_of_a_question_goes_by_its_wording():
    rows = {
        name: [aqascore.published_row(text) for text in entries.values()]
        for name, entries in shipped("aqascore").questions.items()
    }
    assert rows["table-29"][0] == "row 1 of Tables 29, 30 and 36, shown in Tables 2 and 3"
    assert rows["table-29"][8] == "row 9 of Tables 29, 30 and 36"
    # Section 3 says “this audio” where no table does.
    assert rows["text"] == ["", *rows["table-29"][1:]]
    assert rows["compa"][0] == "row 1 of Table 35, shown in Table 4"
    assert rows["captions"][0] == "row 1 of Tables 31 and 32, shown in Table 5"
    assert rows["captions-brace"][0] == "row 1 of Tables 33 and 34"
    assert aqascore.published_row("Is it {text}?") == ""


def test_spellings_can_be_summed_and_are_part_of_the_identity(believer):
    metric = opened(answers="any-case")
    metric.score([pair((A,), "3")])
    assert believer.told[0][1] == AnswerTokens(("Yes", "yes", "YES"), ("No", "no", "NO"))
    assert metric.identity["answers"] != opened().identity["answers"]


def test_faults_stay_with_their_examples(believer):
    examples = [
        Example(1, (A,), ("1",)), Example(2, (A,), ("broken",)), Example(3, (), ("1",)), Example(4, (A,), ()),
    ]  # fmt: skip
    outcomes = score_batch(opened(), examples)
    assert [outcome.fault and outcome.fault.code for outcome in outcomes] == [
        None,
        "undecodable",
        "no_sound",
        "no_text",
    ]


@pytest.mark.parametrize("template", ["default", "all"])
def test_what_is_no_number_is_no_score(believer, monkeypatch, template):
    monkeypatch.setattr(believer, "_believe", lambda *_: YesNoLogProbs(math.nan, math.nan))
    (outcome,) = score_batch(opened(template=template), [pair((A,), "1")])
    assert outcome.fault.code == "not_finite"


def test_a_bound_is_told_apart_from_a_probability(believer):
    (outcome,) = opened().score([pair((A,), "9")])
    assert outcome.readings["default"].provenance == {"bounded": ["no"]}


def test_two_sounds_of_a_text_are_compared_by_their_scores(believer):
    (outcome,) = opened("aqascore-pairs").score([pair((A, B), "1")])
    found = outcome.readings["default"]
    assert [hearing.sounds for hearing in believer.hearings] == [(A,), (B,)]
    assert found.value == found.distribution["first"] - found.distribution["second"] < 0


def test_two_texts_of_a_sound_are_compared_in_one_hearing(believer):
    (outcome,) = opened("aqascore-pairs", template="all").score([pair((A,), "2", "1")])
    assert len(believer.hearings) == 1
    assert len(believer.hearings[0].questions) == 18
    assert len(outcome.readings) == 11
    assert all(found.value > 0 for name, found in outcome.readings.items())
    (single,) = opened().score([pair((A,), "2")])
    assert outcome.readings["default"].distribution["first"] == single.readings["default"].value


def test_a_pair_can_be_asked_about_outright_in_the_order_of_its_texts(believer):
    metric = opened("aqascore-pairs", method="ask", template=["default", "captions-brace.fluent"])
    (outcome,) = metric.score([pair((A,), "2", "1")])
    assert believer.hearings[0].questions[0] == (
        "Does the caption 2 better describe the audible sound events in the audio than 1? Please answer yes or no."
    )
    assert outcome.readings["default"].value > metric.identity["prefers_first_above"]
    assert outcome.readings["default"].distribution.keys() == {"yes", "no"}


def test_two_sounds_cannot_be_asked_about_outright(believer):
    (outcome,) = opened("aqascore-pairs", method="ask").score([pair((A, B), "1")])
    assert outcome.fault.code == "no_text"
    assert "compare" in outcome.fault.message


def test_a_pair_with_one_side_broken_has_no_score(believer):
    outcomes = opened("aqascore-pairs").score([pair((A,), "broken", "1"), Example(2, (A,), ("1",))])
    assert sorted(outcome.fault.code for outcome in outcomes) == ["no_text", "undecodable"]


def test_every_sound_of_a_batch_is_prepared(believer):
    opened("aqascore-pairs").prepare([pair((A, B), "1")])
    assert believer.prepared == [A, B]


def test_nine_templates_at_once_score_as_nine_runs_do(tmp_path):
    checkpoint = tiny_qwen_omni(tmp_path / "omni")

    def readings(template: str) -> dict[str, float]:
        runtime = Runtime(tmp_path / "cache", 10_000_000, "cpu")
        metric = open_metric("aqascore", {"backbone": str(checkpoint), "template": template}, runtime)
        (outcome,) = score_batch(metric, [Example(1, (sound(tmp_path, seconds=1.3),), ("A dog barks.",))])
        return {name: found.value for name, found in outcome.readings.items()}

    together = readings("all")
    singly = {name: readings(name)[name] for name in shipped("aqascore").questions["text"]}
    assert {name: together[name] for name in singly} == pytest.approx(singly, abs=1e-4)
    assert len(set(singly.values())) == 9
