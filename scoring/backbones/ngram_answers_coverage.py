"""How much of the words or n-grams of one text another has. All of it lies from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from scoring.backbones.ngram_answers_texts import FUNCTION_WORDS, Text, trigrams

W = TypeVar("W", bound=Hashable)
Rarity = Callable[[str], float]


@dataclass(frozen=True, eq=False)
class Fields:
    """The five texts. One that is not read is empty."""

    candidate: Text
    reference: Text
    question: Text
    rationale: Text
    transcript: Text

    def __getitem__(self, letter: str) -> Text:
        return {
            "c": self.candidate,
            "r": self.reference,
            "q": self.question,
            "x": self.rationale,
            "t": self.transcript,
        }[letter]


def coverage(of: Mapping[W, int], by: Mapping[W, int], rarity: Callable[[W], float] | None = None) -> float:
    """0 where there is nothing to cover."""
    total = covered = 0.0
    for word, times in of.items():
        weight = rarity(word) if rarity else 1.0
        total += weight * times
        covered += weight * min(times, by.get(word, 0))
    return covered / total if total else 0.0


def content(count: Mapping[str, int], *without: Mapping[str, int]) -> dict[str, int]:
    """The words that say something and are in none of the others."""
    return {
        word: times
        for word, times in count.items()
        if word not in FUNCTION_WORDS and not any(word in other for other in without)
    }


def alike(of: Mapping[str, int], by: Mapping[str, int], rarity: Rarity) -> float:
    """Coverage in which a word that is not there counts as much as the word there that is spelt most like it (Dice's
    coefficient of their trigrams)."""
    total = covered = 0.0
    others = [trigrams(word) for word in by]
    for word in of:
        own, weight = trigrams(word), rarity(word)
        total += weight
        likeness = (2 * len(own & other) / (len(own) + len(other)) for other in others)
        covered += weight * (1.0 if word in by else max(likeness, default=0.0))
    return covered / total if total else 0.0
