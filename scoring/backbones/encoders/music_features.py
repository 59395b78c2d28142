"""Features shared by all music encoders: sounds are decoded once and ahead of time, results are cached between runs."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from scoring.backbones.encoders.contract import HEARD_SECONDS, Span
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.backbones.loading.sounds import SoundPrefetcher, decode_start
from scoring.metrics.contract import ExampleError, Sound

# Two minutes of sound take 12 MB at 24 kHz: so many are decoded while as many are encoded.
_SOUNDS_AT_ONCE = 8

# The fault of a span that begins where its sound has ended.
TOO_SHORT = "too_short_sound"

Samples = NDArray[np.float32]
"""One channel, full scale at -1 and 1, shape (samples,)."""

Tokens = torch.Tensor
"""float32 on the CPU, shape (frames or tokens, width)."""


class MusicFeatures:
    """Tokens by span and by text, from the cache or from what an encoder makes of samples and texts.

    `rate` is what the encoder hears at.
    """

    def __init__(self, *, identity: Mapping[str, Any], rate: int, cache: FeatureCache) -> None:
        self._rate = rate
        self._cache = cache
        self._sound_space = _digest(["music", identity])
        self._text_space = _digest(["text of music", identity])
        self._preparation: SoundPrefetcher[Samples] = SoundPrefetcher(self._decode)

    def prepare(self, spans: Sequence[Span]) -> None:
        """Begin to decode the sounds of spans that are not kept."""
        self._preparation.begin([span.sound for span in spans if self._kept(span) is None])

    def of_spans(
        self, spans: Sequence[Span], encode: Callable[[Sequence[Samples]], list[Tokens]]
    ) -> list[Tokens | ExampleError]:
        """`encode` gets the samples of some spans, none of them empty, and gives tokens for each."""
        found: dict[Span, Tokens | ExampleError] = {}
        waiting: dict[str, list[Span]] = {}
        for span in dict.fromkeys(spans):
            kept = self._kept(span)
            if kept is None:
                waiting.setdefault(span.sound.sha256, []).append(span)
            else:
                found[span] = kept
        groups = list(waiting.values())
        for start in range(0, len(groups), _SOUNDS_AT_ONCE):
            ahead = groups[start : start + 2 * _SOUNDS_AT_ONCE]
            self._preparation.begin([group[0].sound for group in ahead])
            found |= self._encoded(ahead[:_SOUNDS_AT_ONCE], encode)
        return [found[span] for span in spans]

    def of_texts(self, texts: Sequence[str], encode: Callable[[Sequence[str]], list[Tokens]]) -> list[Tokens]:
        """`encode` gets texts that differ from each other, and gives tokens for each."""
        found: dict[str, Tokens] = {}
        unknown: list[str] = []
        for text in dict.fromkeys(texts):
            kept = self._cache.get(self._text_space, _sha256(text))
            if kept is None:
                unknown.append(text)
            else:
                found[text] = kept["tokens"]
        for text, tokens in zip(unknown, encode(unknown) if unknown else [], strict=True):
            found[text] = tokens
            self._cache.put(self._text_space, _sha256(text), {"tokens": tokens})
        return [found[text] for text in texts]

    def _kept(self, span: Span) -> Tokens | None:
        kept = self._cache.get(self._sound_space, _key(span))
        return None if kept is None else kept["tokens"]

    def _encoded(
        self, groups: Sequence[Sequence[Span]], encode: Callable[[Sequence[Samples]], list[Tokens]]
    ) -> dict[Span, Tokens | ExampleError]:
        """Each group is of one sound."""
        found: dict[Span, Tokens | ExampleError] = {}
        heard: dict[Span, Samples] = {}
        decoded = self._preparation.take([group[0].sound for group in groups])
        for span in (span for group in groups for span in group):
            try:
                heard[span] = self._part(decoded[span.sound.sha256].result(), span)
            except ExampleError as error:
                found[span] = error
        for span, tokens in zip(heard, encode(list(heard.values())) if heard else [], strict=True):
            found[span] = tokens
            self._cache.put(self._sound_space, _key(span), {"tokens": tokens})
        return found

    def _decode(self, sound: Sound) -> Samples:
        """In a thread."""
        return decode_start(sound, rate=self._rate, seconds=HEARD_SECONDS)

    def _part(self, samples: Samples, span: Span) -> Samples:
        first, last = round(span.start * self._rate), round((span.start + span.seconds) * self._rate)
        if first >= len(samples):
            raise ExampleError(
                TOO_SHORT,
                f"{span.sound.path} ends before second {span.start:g}, from which it was to be heard. Its stated "
                "length is wrong: export it again.",
            )
        return samples[first:last]


class CachedMusicEncoder(ABC):
    """A MusicEncoder whose tokens are cached: a subclass encodes the samples of one sound, and one text."""

    def __init__(self, *, width: int, identity: Mapping[str, Any], rate: int, cache: FeatureCache) -> None:
        self.width, self.identity = width, identity
        self._features = MusicFeatures(identity=identity, rate=rate, cache=cache)

    @abstractmethod
    def _encode_sound(self, samples: Samples) -> Tokens: ...

    @abstractmethod
    def _encode_text(self, text: str) -> Tokens: ...

    def prepare(self, spans: Sequence[Span]) -> None:
        self._features.prepare(spans)

    def of_spans(self, spans: Sequence[Span]) -> list[Tokens | ExampleError]:
        return self._features.of_spans(
            spans, lambda sounds: [self._encode_sound(samples) for samples in sounds]
        )

    def of_texts(self, texts: Sequence[str]) -> list[Tokens]:
        return self._features.of_texts(texts, lambda unknown: [self._encode_text(text) for text in unknown])


def _key(span: Span) -> str:
    return _sha256(f"{span.sound.sha256} {span.start} {span.seconds}")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(parts: Any) -> str:
    return _sha256(json.dumps(parts, sort_keys=True))
