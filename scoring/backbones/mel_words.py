"""What a text says of music, as tokens: words as hashed pieces, and the facts that ears can check.

Three kinds of words are told in the same terms as what is heard: a tempo ("84 bpm"), a mode ("G major") and percussion
("no drums"). All others are sums of pseudo-random vectors of their pieces, so that "drum" and "drummer" are alike. What
follows a "no" or "without" up to the next mark is told apart (Das & Chen, "Yahoo! for Amazon", Management Science 53,
2007). Percussion and negation are known in English only.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

import numpy as np

from scoring.backbones.mel_spectra import FloatArray
from scoring.backbones.mel_time import TEMPO_WIDTH, tempo_points

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
_TEMPI = (20.0, 400.0)
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


def facts_heard(tempo: FloatArray, mode: float, percussion: float) -> FloatArray:
    """(FACT_WIDTH,) What is heard, in the same terms: tempo as from `cyclic_tempo`, mode and percussion from -2 to
    2."""
    return np.concatenate([2 * tempo, [mode, percussion]])


def _fact(word: str, following: str, *, negated: bool) -> FloatArray | None:
    fact = np.zeros(FACT_WIDTH)
    if word[0].isdigit():
        if following not in _TEMPO_UNITS or not _TEMPI[0] <= float(word) <= _TEMPI[1]:
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
