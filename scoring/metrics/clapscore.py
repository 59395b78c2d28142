"""CLAPScore: how near a text lies to a sound in the space of a contrastive model (AQAScore paper, §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import Clap, Embedding, cosine
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
        embedded = dict(zip((example.key for example in whole), zip(sounds, texts, strict=True), strict=True))
        return [
            _outcome(
                example.key, *embedded.get(example.key, (_NO_TEXT if example.sounds else _NO_SOUND,) * 2)
            )
            for example in examples
        ]


_NO_SOUND = ExampleError("no_sound", "This candidate has no sound. CLAPScore compares a sound with a text.")
_NO_TEXT = ExampleError("no_text", "There is no text to compare the sound with. Give the item a prompt.")


def _outcome(key: int, sound: Embedding | ExampleError, text: Embedding | ExampleError) -> Outcome:
    if isinstance(sound, ExampleError):
        return Outcome(key, fault=sound.fault)
    if isinstance(text, ExampleError):
        return Outcome(key, fault=text.fault)
    return Outcome(key, {"value": Reading(cosine(sound, text))})
