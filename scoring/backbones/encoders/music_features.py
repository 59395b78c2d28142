"""Features shared by all music encoders: sounds are decoded once and ahead of time, results are cached between runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from scoring.backbones.encoders.contract import HEARD_SECONDS, Span
from scoring.backbones.loading.feature_cache import (
    FeatureCache,
    features_of_texts,
    settings_digest,
    text_digest,
)
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


class CachedMusicEncoder(ABC):
    """A MusicEncoder whose tokens are cached: a subclass encodes the samples of one span, heard at `rate`, and one
    text."""

    def __init__(self, *, width: int, identity: Mapping[str, Any], rate: int, cache: FeatureCache) -> None:
        self.width, self.identity = width, identity
        self._rate = rate
        self._cache = cache
        self._sound_space = settings_digest(["music", identity])
        self._text_space = settings_digest(["text of music", identity])
        self._prefetcher: SoundPrefetcher[Samples] = SoundPrefetcher(partial(_decode, rate=rate))

    @abstractmethod
    def _encode_sound(self, samples: Samples) -> Tokens: ...

    @abstractmethod
    def _encode_text(self, text: str) -> Tokens: ...

    def prepare(self, spans: Sequence[Span]) -> None:
        """Begin to decode the sounds of spans that are not cached."""
        self._prefetcher.begin([span.sound for span in spans if self._cached(span) is None])

    def of_spans(self, spans: Sequence[Span]) -> list[Tokens | ExampleError]:
        tokens: dict[Span, Tokens | ExampleError] = {}
        waiting: dict[str, list[Span]] = {}
        for span in dict.fromkeys(spans):
            cached = self._cached(span)
            if cached is None:
                waiting.setdefault(span.sound.sha256, []).append(span)
            else:
                tokens[span] = cached["tokens"]
        groups = list(waiting.values())
        for start in range(0, len(groups), _SOUNDS_AT_ONCE):
            ahead = groups[start : start + 2 * _SOUNDS_AT_ONCE]
            self._prefetcher.begin([group[0].sound for group in ahead])
            tokens |= self._encoded(ahead[:_SOUNDS_AT_ONCE])
        return [tokens[span] for span in spans]

    def of_texts(self, texts: Sequence[str]) -> list[Tokens]:
        return features_of_texts(  # type: ignore[return-value]
            self._cache,
            self._text_space,
            texts,
            name="tokens",
            encode=lambda unknown: ((text, self._encode_text(text)) for text in unknown),
        )

    def _cached(self, span: Span) -> dict[str, Tokens] | None:
        return self._cache.get(self._sound_space, _key(span))

    def _encoded(self, groups: Sequence[Sequence[Span]]) -> dict[Span, Tokens | ExampleError]:
        """Each group is of one sound."""
        tokens: dict[Span, Tokens | ExampleError] = {}
        decoded = self._prefetcher.take([group[0].sound for group in groups])
        for span in (span for group in groups for span in group):
            try:
                encoded = self._encode_sound(self._part(decoded[span.sound.sha256].result(), span))
            except ExampleError as error:
                tokens[span] = error
                continue
            tokens[span] = encoded
            self._cache.put(self._sound_space, _key(span), {"tokens": encoded})
        return tokens

    def _part(self, samples: Samples, span: Span) -> Samples:
        first, last = round(span.start * self._rate), round((span.start + span.seconds) * self._rate)
        if first >= len(samples):
            raise ExampleError(
                TOO_SHORT,
                f"{span.sound.path} ends before second {span.start:g}, from which it was to be heard. Its stated "
                "length is wrong: export it again.",
            )
        return samples[first:last]


def _decode(sound: Sound, *, rate: int) -> Samples:
    """In a thread. Not a method: the prefetcher would hold the encoder, and its weights stay until garbage is
    collected."""
    return decode_start(sound, rate=rate, seconds=HEARD_SECONDS)


def _key(span: Span) -> str:
    return text_digest(f"{span.sound.sha256} {span.start} {span.seconds}")
