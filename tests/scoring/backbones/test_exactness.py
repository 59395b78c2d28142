"""Questions packed behind a shared prefix, batched and padded, score as plain passes over each whole prompt do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AudioFlamingo3Processor, Qwen2AudioProcessor

from scoring.backbones.contract import AnswerTokens, Backbone, Hearing
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import ExampleError, Sound
from scoring.metrics.registry import Runtime
from tests.scoring import checkpoints
from tests.scoring.backbones.plain import PlainModel, omni_processor
from tests.scoring.sounds import sound

SYSTEM = "Listen, and say yes or no."
NINE = tuple(f"Question {i}: does this audio contain{' the sound' * i} a dog?" for i in range(9))


@dataclass(frozen=True)
class Case:
    """`seconds`: sounds that try this tower's edges, such as windows and what is shorter than one."""

    make: Callable[[Path], Path]
    model_class: str
    processor: Callable[[Path], Any]
    seconds: tuple[float, ...]
    hears_two: bool = True


CASES = {
    "qwen2.5-omni": Case(
        checkpoints.tiny_qwen_omni,
        "Qwen2_5OmniThinkerForConditionalGeneration",
        lambda folder: omni_processor(folder, "Qwen2_5OmniProcessor"),
        (0.31, 1.0, 2.437),
    ),
    "qwen2-audio": Case(
        checkpoints.tiny_qwen_audio,
        "Qwen2AudioForConditionalGeneration",
        Qwen2AudioProcessor.from_pretrained,
        (0.31, 1.1237, 2.0),
    ),
    "audio-flamingo": Case(
        checkpoints.tiny_flamingo,
        "AudioFlamingo3ForConditionalGeneration",
        AudioFlamingo3Processor.from_pretrained,
        (0.31, 2.0, 5.1237),
        hears_two=False,  # its processor takes one sound a prompt
    ),
    "qwen3-omni": Case(
        checkpoints.tiny_qwen3_omni,
        "Qwen3OmniMoeThinkerForConditionalGeneration",
        lambda folder: omni_processor(folder, "Qwen3OmniMoeProcessor"),
        (0.31, 1.1237, 2.437),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exactness")


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, folder: Path) -> tuple[Case, Path]:
    found = CASES[request.param]
    return found, found.make(folder / request.param)


def opened(checkpoint: Path, dtype: str) -> Backbone:
    runtime = Runtime(checkpoint / "cache", cache_bytes=0, device="cpu")
    return open_backbone(str(checkpoint), dtype=dtype, runtime=runtime)


def hearings(case: Case, folder: Path) -> list[Hearing]:
    sounds = [sound(folder, seconds=seconds, seed=i) for i, seconds in enumerate(case.seconds)]
    asked = [Hearing((one,), NINE[: 3 * i + 1]) for i, one in enumerate(sounds)]
    if case.hears_two:
        asked.append(Hearing((sounds[1], sounds[1]), NINE[2:4]))
    return asked


def log_p(backbone: Backbone, asked: list[Hearing]) -> torch.Tensor:
    """(questions, 2)"""
    answers = backbone.answer_logprobs(asked, system=SYSTEM, answers=AnswerTokens())
    return torch.tensor([(found.yes, found.no) for answer in answers for found in answer])  # type: ignore[union-attr]


def each(asked: list[Hearing]) -> list[tuple[tuple[Sound, ...], str]]:
    return [(hearing.sounds, question) for hearing in asked for question in hearing.questions]


@pytest.fixture
def _plain_kernels() -> Iterator[None]:
    """Some virtual machines announce the processor's instructions for bfloat16 and then refuse them."""
    with torch.backends.mkldnn.flags(enabled=False):
        yield


@pytest.mark.usefixtures("_plain_kernels")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 2e-2)])
def test_scores_are_those_of_plain_passes(case, folder, dtype, tolerance):
    made, checkpoint = case
    asked = hearings(made, folder)
    plain = PlainModel(checkpoint, made.model_class, made.processor(checkpoint), getattr(torch, dtype))
    expected = torch.tensor([plain.log_p(*one, system=SYSTEM) for one in each(asked)])
    found = log_p(opened(checkpoint, dtype), asked)
    # A model that did not listen would pass otherwise: these answers depend on sound and question.
    assert found.std(dim=0).min() > 2 * tolerance
    assert (score(found) - score(expected)).abs().max() <= tolerance
    if dtype == "float32":
        assert (found - expected).abs().max() <= tolerance


def test_company_changes_no_score(case, folder):
    made, checkpoint = case
    asked = hearings(made, folder)
    backbone = opened(checkpoint, "float32")
    alone = torch.cat([log_p(backbone, [Hearing(sounds, (question,))]) for sounds, question in each(asked)])
    assert (log_p(backbone, asked) - alone).abs().max() <= 1e-4


def test_a_sound_of_a_few_milliseconds_is_said_to_be_too_short(case, folder):
    _, checkpoint = case
    backbone = opened(checkpoint, "float32")
    (fault,) = backbone.answer_logprobs(
        [Hearing((sound(folder, seconds=0.012),), ("A dog?",))], system=SYSTEM, answers=AnswerTokens()
    )
    assert isinstance(fault, ExampleError)
    assert fault.fault.code == "no_sound"


def test_it_writes_what_the_plain_model_writes(case, folder):
    made, checkpoint = case
    asked = [*hearings(made, folder), Hearing((), ("What is a dog?",))]
    plain = PlainModel(checkpoint, made.model_class, made.processor(checkpoint))
    expected = [plain.write(*one, system=SYSTEM, max_new_tokens=6) for one in each(asked)]
    answers = opened(checkpoint, "float32").generate(asked, system=SYSTEM, max_new_tokens=6)
    assert [written.text for answer in answers for written in answer] == expected


def test_the_thinker_is_the_same_within_the_published_whole(tmp_path):
    thinker = checkpoints.tiny_qwen_omni(tmp_path / "thinker")
    whole = checkpoints.tiny_qwen_omni(tmp_path / "whole", whole=True)
    asked = [Hearing((sound(tmp_path, seconds=0.5),), NINE[:2])]
    assert log_p(opened(whole, "float32"), asked).equal(log_p(opened(thinker, "float32"), asked))


def score(log_p: torch.Tensor) -> torch.Tensor:
    return (log_p[:, 0] - log_p[:, 1]).sigmoid()
