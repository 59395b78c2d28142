"""The built-in encoder of music: measured features of sounds and hashed words of texts, with nothing to download.

A sound becomes a token for each ten seconds. The first part of a token tells how it sounds, the second what texts speak
of as well (tempo, mode, percussion), in the same terms; the last, of words, is empty. A text becomes a token per word,
in the second part or the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from scoring.backbones import mel_sound, mel_time, mel_tones
from scoring.backbones.feature_cache import FeatureCache
from scoring.backbones.mel_spectra import FFT, HOP, RATE, FloatArray, levelled, spectrogram
from scoring.backbones.mel_words import FACT_WIDTH, WORD_WIDTH, facts_heard, tokens_of
from scoring.backbones.music_encoders import Span
from scoring.backbones.music_features import MusicFeatures, Samples
from scoring.metrics.contract import ExampleError

# Of the features kept between runs: a change of this code or of a `mel_` module that changes them takes a new number.
_VERSION = 1

_WINDOW_SECONDS = 10
# Less than this cannot have a spectrum frame of every kind; silence is put behind it.
_LEAST_SECONDS = 1.0
_SOUND_WIDTH = 120
_ENDS = slice(0, mel_sound.ENDS)
_MOST = 3.0
# Containers state lengths that are off by a frame of their codec.
_SLACK_SECONDS = 0.1


class MelMusic:
    """A MusicEncoder. The same sound gives the same tokens, up to rounding, at any loudness and sampling rate, in one
    channel or several."""

    width = _SOUND_WIDTH + FACT_WIDTH + WORD_WIDTH

    def __init__(self, cache: FeatureCache) -> None:
        self.identity: Mapping[str, Any] = {"code": f"mel-music/{_VERSION}"}
        self._features = MusicFeatures(identity=self.identity, rate=RATE, cache=cache)

    def prepare(self, spans: Sequence[Span]) -> None:
        self._features.prepare(spans)

    def of_spans(self, spans: Sequence[Span]) -> list[torch.Tensor | ExampleError]:
        found = self._features.of_spans(spans, lambda heard: [_tokens(samples) for samples in heard])
        return [_with_ending(tokens, span) for tokens, span in zip(found, spans, strict=True)]

    def of_texts(self, texts: Sequence[str]) -> list[torch.Tensor]:
        return self._features.of_texts(texts, lambda unknown: [_read(text) for text in unknown])


def _read(text: str) -> torch.Tensor:
    facts, words = tokens_of(text)
    return _tensor(np.concatenate([np.zeros((len(facts), _SOUND_WIDTH)), facts, words], axis=1))


def _tokens(samples: Samples) -> torch.Tensor:
    """(windows, width). Every token tells how the whole of what is heard ends."""
    sound = levelled(samples)
    ending = mel_sound.ending(sound)
    heard = np.stack([np.concatenate([ending, _described(window)]) for window in _windows(sound)])
    heard = np.clip(heard, -_MOST, _MOST)
    return _tensor(np.concatenate([heard, np.zeros((len(heard), WORD_WIDTH))], axis=1))


def _windows(sound: FloatArray) -> list[FloatArray]:
    """As many of ten seconds as cover the sound, spread evenly; one of what is shorter."""
    least, size = round(_LEAST_SECONDS * RATE), _WINDOW_SECONDS * RATE
    if len(sound) < least:
        sound = np.pad(sound, (0, least - len(sound)))
    if len(sound) <= size:
        return [sound]
    starts = np.linspace(0, len(sound) - size, -(-len(sound) // size)).round().astype(int)
    return [sound[start : start + size] for start in starts]


def _described(sound: FloatArray) -> FloatArray:
    """(_SOUND_WIDTH - ENDS + FACT_WIDTH,)"""
    levels, tones = mel_sound.mel_levels(sound), mel_tones.chroma(sound)
    grown = mel_time.onsets(levels)
    recurring, percussion = mel_time.recurrence(grown), mel_time.percussion(levels)
    facts = facts_heard(
        mel_time.cyclic_tempo(recurring),
        mel_tones.mode(tones),
        float(np.clip(percussion[[0, -1]].mean(), -2, 2)),
    )
    return np.concatenate(
        [
            mel_sound.spectrum(levels),
            mel_sound.colour(spectrogram(sound, FFT, HOP)),
            mel_sound.clicks(sound),
            mel_sound.tops(sound),
            mel_time.attack(grown),
            mel_time.steadiness(recurring),
            percussion,
            mel_time.repetition(levels[::10]),
            mel_time.repetition(tones),
            mel_tones.clarity(tones),
            facts,
        ]
    )


def _with_ending(tokens: torch.Tensor | ExampleError, span: Span) -> torch.Tensor | ExampleError:
    """Where the sound goes on after what is heard of it, nothing is known of how it ends."""
    if isinstance(tokens, ExampleError) or span.start + span.seconds >= span.sound.seconds - _SLACK_SECONDS:
        return tokens
    tokens = tokens.clone()
    tokens[:, _ENDS] = 0
    return tokens


def _tensor(rows: FloatArray) -> torch.Tensor:
    return torch.from_numpy(rows.astype(np.float32))
