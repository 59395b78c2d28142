"""CLAPScore: how near a text lies to a sound in the space of a contrastive model (AQAScore paper, §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import Clap, Embedding
from scoring.backbones.loading.feature_cache import open_feature_cache
from scoring.backbones.loading.pretrained import device_of
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading
from scoring.metrics.registry import Runtime


def open_clapscore(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    device = device_of(runtime.device)
    parts = open_clap(options["checkpoint"], folder=runtime.checkpoints, device=device)
    cache = open_feature_cache(runtime)
    return ClapScore(Clap(parts, long_sounds=options["long_sounds"], device=device, cache=cache))


class ClapScore:
    """The cosine of the two embeddings, from -1 to 1; higher is nearer."""

    limits = BatchLimits(examples=64, seconds=3600.0)

    def __init__(self, clap: Clap) -> None:
        self._clap = clap
        self.identity: Mapping[str, Any] = {"metric": "clapscore", **clap.identity}

    def prepare(self, examples: Sequence[Example]) -> None:
        self._clap.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        whole = [example for example in examples if example.sounds and example.texts]
        sounds = self._clap.of_sounds([example.sounds[0] for example in whole])
        texts = self._clap.of_texts([example.texts[0] for example in whole])
        scored = {
            example.key: _outcome(example.key, sound, text)
            for example, sound, text in zip(whole, sounds, texts, strict=True)
        }
        return [scored.get(example.key) or _missing_input(example) for example in examples]


def _outcome(key: int, sound: Embedding | Exception, text: Embedding | Exception) -> Outcome:
    for side in (sound, text):
        if isinstance(side, ExampleError):
            return Outcome(key, fault=side.fault)
    cosine = float((sound.double() * text.double()).sum())  # type: ignore[union-attr]
    # Rounding may carry two equal directions past 1.
    return Outcome(key, {"value": Reading(min(max(cosine, -1.0), 1.0))})


def _missing_input(example: Example) -> Outcome:
    if not example.sounds:
        error = ExampleError(
            "no_sound", "This candidate has no sound. CLAPScore compares a sound with a text."
        )
    else:
        error = ExampleError("no_text", "There is no text to compare the sound with. Give the item a prompt.")
    return Outcome(example.key, fault=error.fault)
