"""AQAScore over HTTP: exactly what the server said."""

from __future__ import annotations

import math
from itertools import product

import pytest

from scoring.backbones.openai import client
from scoring.metrics.batching import score_batch
from scoring.metrics.contract import Example, Sound
from scoring.metrics.registry import open_metric
from scoring.prompts import fill, shipped
from tests.scoring.backbones.encoders.asking import WORKPLACE, conversation, tone
from tests.scoring.openai_double import OpenAIDouble, logprobs


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(client, "FIRST_BACKOFF_S", 0.001)
    monkeypatch.delenv(client.KEY_VARIABLE, raising=False)


@pytest.fixture(scope="session")
def sounds(tmp_path_factory) -> list[Sound]:
    folder = tmp_path_factory.mktemp("sounds")
    return [tone(folder / f"{pitch}.wav", pitch) for pitch in (300, 400, 500)]


def test_log_probabilities_of_the_double_are_a_distribution():
    assert math.fsum(map(math.exp, logprobs(conversation("?")).values())) == pytest.approx(1.0)


@pytest.mark.parametrize("chosen_tokens", [False, True])
def test_aqascore_is_what_the_server_said(sounds, chosen_tokens):
    examples = [
        Example(key, (sound,), (text,)) for key, (sound, text) in enumerate(product(sounds, ["rain", "wind"]))
    ]
    with OpenAIDouble(chosen_tokens=chosen_tokens) as server:
        metric = open_metric("aqascore", {"backbone": server.name, "template": "all"}, WORKPLACE)
        outcomes = score_batch(metric, examples)
    prompts = shipped("aqascore")
    n_exact = 0
    for example, outcome in zip(examples, outcomes, strict=True):
        for name, template in prompts.questions["text"].items():
            question = fill(template, {"text": example.texts[0]})
            said = logprobs(conversation(question, *example.sounds, system=prompts.system))
            # An outcome is one row: were one question of it unanswerable, it would hold none of them.
            if outcome.fault is None and not outcome.readings[name].provenance.get("bounded"):
                n_exact += 1
                assert outcome.readings[name].value == pytest.approx(
                    1 / (1 + math.exp(said["No"] - said["Yes"]))
                )
                assert outcome.readings[name].distribution == {"yes": said["Yes"], "no": said["No"]}
    assert n_exact == 54 if chosen_tokens else n_exact > 0


def test_aqascore_says_where_it_is_bounded_and_gives_no_score_where_nothing_is_known(sounds):
    examples = [Example(key, (sounds[0],), (text,)) for key, text in enumerate(["rain", "wind"])]
    with OpenAIDouble(next_faults=["yes-missing"]) as server:
        metric = open_metric("aqascore", {"backbone": server.name}, WORKPLACE)
        (bounded,) = score_batch(metric, examples[:1])
        server.fault = "both-missing"
        (unknown,) = score_batch(metric, examples[1:])
    assert "yes" in bounded.readings["default"].provenance["bounded"]
    assert unknown.fault.code == "no_logprobs"
    assert not unknown.readings


def test_a_run_outlives_its_server_and_what_failed_is_scored_the_next_time(sounds):
    examples = [Example(key, (sounds[key % 3],), (f"text {key}",)) for key in range(12)]
    with OpenAIDouble(chosen_tokens=True) as server:
        metric = open_metric("aqascore", {"backbone": server.name}, WORKPLACE)
        whole = score_batch(metric, examples)
    gone = score_batch(metric, examples)
    assert {outcome.fault.code for outcome in gone} == {"server_unreachable"}
    with OpenAIDouble(chosen_tokens=True, port=server.port, fault="503", every=3):
        assert score_batch(metric, examples) == whole
