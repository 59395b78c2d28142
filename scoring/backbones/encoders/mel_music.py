"""The built-in encoder of music: measured features of sounds and hashed words of texts, with nothing to download.

A sound becomes a token for each ten seconds. The first part of a token tells how it sounds, the second what texts speak
of as well (tempo, mode, percussion), in the same terms; the last, of words, is empty. A text becomes a token per word,
in the second part or the last.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch

from scoring.backbones.encoders import mel_features
from scoring.backbones.encoders.contract import Span
from scoring.backbones.encoders.mel_features import (
    FFT,
    HOP,
    RATE,
    TEMPO_WIDTH,
    FloatArray,
    normalize_loudness,
    spectrogram,
    tempo_points,
)
from scoring.backbones.encoders.music_features import CachedMusicEncoder, Samples
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.backbones.loading.sounds import spread_windows
from scoring.metrics.contract import ExampleError

# ── texts about music as tokens: hashed word pieces, and facts that can be checked by ear ──
# Tempo ("84 bpm"), mode ("G major") and percussion ("no drums") are expressed in the terms of the heard features. All
# other words are sums of pseudo-random vectors of their pieces, so that "drum" and "drummer" are alike. What follows
# a "no" or "without" up to the next mark is a token of its own (Das & Chen, "Yahoo! for Amazon", Management Science
# 53, 2007). Percussion and negation are known in English only.

WORD_WIDTH = 64
FACT_WIDTH = TEMPO_WIDTH + 2

_WORDS = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?|[.,;:!?]")
_MARKS = frozenset(".,;:!?")
_NOT = frozenset({"no", "not", "without", "never", "nothing", "neither", "nor"})
_TEMPO_UNITS = frozenset({"bpm", "beats"})
_MODES = {"major": 1.0, "minor": -1.0}
_PERCUSSION = re.compile(
    r"drum\w*|percussi\w+|backbeat|beats?|snares?|kicks?|shakers?|cymbals?|hi-?hats?|tambourines?|bongos?|congas?"
)
_TEMPO_RANGE = (20.0, 400.0)
_STRENGTH = 3.0  # the length of a token, about that of what is heard


def tokens_of(text: str) -> tuple[FloatArray, FloatArray]:
    """(tokens, FACT_WIDTH) and (tokens, WORD_WIDTH), of which each token has one. The empty text has one of zeros."""
    words = _WORDS.findall(text.lower())
    facts, others, negated = [], [], False
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word in _MARKS:
            negated = False
            continue
        fact = _fact(word, following, negated=negated)
        facts.append(np.zeros(FACT_WIDTH) if fact is None else fact)
        others.append(np.zeros(WORD_WIDTH) if fact is not None else _hashed(word, negated=negated))
        negated = negated or word in _NOT
    if not facts:
        return np.zeros((1, FACT_WIDTH)), np.zeros((1, WORD_WIDTH))
    return np.stack(facts), np.stack(others)


def _fact(word: str, following: str, *, negated: bool) -> FloatArray | None:
    fact = np.zeros(FACT_WIDTH)
    if word[0].isdigit():
        if following not in _TEMPO_UNITS or not _TEMPO_RANGE[0] <= float(word) <= _TEMPO_RANGE[1]:
            return None
        fact[:TEMPO_WIDTH] = tempo_points(np.array([float(word)]))[0]
    elif word in _MODES:
        fact[TEMPO_WIDTH] = _MODES[word]
    elif _PERCUSSION.fullmatch(word):
        fact[TEMPO_WIDTH + 1] = -1.0 if negated else 1.0
    else:
        return None
    return fact * _STRENGTH


@lru_cache(maxsize=4096)
def _hashed(word: str, *, negated: bool) -> FloatArray:
    framed = f"<{word}>"
    pieces = [framed, *(framed[at : at + 3] for at in range(len(framed) - 2))]
    total = np.sum([_direction(f"not {piece}" if negated else piece) for piece in pieces], axis=0)
    return np.asarray(total / np.linalg.norm(total) * _STRENGTH)


@lru_cache(maxsize=65536)
def _direction(piece: str) -> FloatArray:
    seed = int.from_bytes(hashlib.sha256(piece.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(WORD_WIDTH)


# Of the features kept between runs: a change of this code or of a `mel_` module that changes them takes a new number.
_VERSION = 1

_WINDOW_SECONDS = 10
# Less than this cannot have a spectrum frame of every kind; silence is put behind it.
_LEAST_SECONDS = 1.0
_SOUND_WIDTH = 120
_ENDS = slice(0, mel_features.ENDS)
_MOST = 3.0
# Containers state lengths that are off by a frame of their codec.
_SLACK_SECONDS = 0.1


class MelMusic(CachedMusicEncoder):
    """A MusicEncoder. The same sound gives the same tokens, up to rounding, at any loudness and sampling rate, in one
    channel or several."""

    def __init__(self, cache: FeatureCache) -> None:
        width = _SOUND_WIDTH + FACT_WIDTH + WORD_WIDTH
        super().__init__(width=width, identity={"code": f"mel-music/{_VERSION}"}, rate=RATE, cache=cache)

    def of_spans(self, spans: Sequence[Span]) -> list[torch.Tensor | ExampleError]:
        return [
            _mask_ending(tokens, span) for tokens, span in zip(super().of_spans(spans), spans, strict=True)
        ]

    def _encode_sound(self, samples: Samples) -> torch.Tensor:
        """(windows, width). Every token tells how the whole of what is heard ends."""
        sound = normalize_loudness(samples)
        ending = mel_features.ending_levels(sound)
        sound = np.pad(sound, (0, max(round(_LEAST_SECONDS * RATE) - len(sound), 0)))
        windows = spread_windows(sound, _WINDOW_SECONDS * RATE)
        features = np.stack([np.concatenate([ending, _window_features(window)]) for window in windows])
        features = np.clip(features, -_MOST, _MOST)
        return _tensor(np.concatenate([features, np.zeros((len(features), WORD_WIDTH))], axis=1))

    def _encode_text(self, text: str) -> torch.Tensor:
        facts, words = tokens_of(text)
        return _tensor(np.concatenate([np.zeros((len(facts), _SOUND_WIDTH)), facts, words], axis=1))


def _window_features(sound: FloatArray) -> FloatArray:
    """(_SOUND_WIDTH - ENDS + FACT_WIDTH,)"""
    levels, tones = mel_features.mel_levels(sound), mel_features.chroma(sound)
    grown = mel_features.onsets(levels)
    recurring, percussion = mel_features.onset_autocorrelation(grown), mel_features.percussion(levels)
    return np.concatenate(
        [
            mel_features.spectrum_statistics(levels),
            mel_features.timbre(spectrogram(sound, FFT, HOP)),
            mel_features.click_rates(sound),
            mel_features.clipping(sound),
            mel_features.attack(grown),
            mel_features.steadiness(recurring),
            percussion,
            mel_features.repetition(levels[::10]),
            mel_features.repetition(tones),
            mel_features.key_clarity(tones),
            # What texts speak of as well, in the terms of `tokens_of`.
            2 * mel_features.cyclic_tempo(recurring),
            [mel_features.major_or_minor(tones), float(np.clip(percussion[[0, -1]].mean(), -2, 2))],
        ]
    )


def _mask_ending(tokens: torch.Tensor | ExampleError, span: Span) -> torch.Tensor | ExampleError:
    """Where the sound goes on after what is heard of it, nothing is known of how it ends."""
    if isinstance(tokens, ExampleError) or span.start + span.seconds >= span.sound.seconds - _SLACK_SECONDS:
        return tokens
    tokens = tokens.clone()
    tokens[:, _ENDS] = 0
    return tokens


def _tensor(rows: FloatArray) -> torch.Tensor:
    return torch.from_numpy(rows.astype(np.float32))
