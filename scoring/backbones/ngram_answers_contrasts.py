"""What tells two answers apart that share as many words with the reference: where they say it, and the contrary."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from scoring.backbones.ngram_answers_coverage import Fields, Rarity, alike, content, coverage
from scoring.backbones.ngram_answers_texts import Text, word_form

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# So many first letters are what inflected and derived forms share.
_BEGINNINGS = (4, 5)

# Two that cannot both be the answer, of what questions about sounds, music and speech ask for.
# fmt: off
_CONTRARY = (
    ("male", "female"), ("man", "woman"), ("men", "women"), ("boy", "girl"), ("father", "mother"), ("son", "daughter"),
    ("husband", "wife"), ("increase", "decrease"), ("rise", "fall"), ("up", "down"), ("left", "right"),
    ("high", "low"), ("fast", "slow"), ("loud", "quiet"), ("long", "short"), ("strong", "weak"), ("hot", "cold"),
    ("major", "minor"), ("acoustic", "electric"), ("solo", "group"), ("single", "multiple"), ("simple", "complex"),
    ("positive", "negative"), ("happy", "sad"), ("calm", "angry"), ("good", "bad"), ("same", "different"),
    ("true", "false"), ("accept", "reject"), ("agree", "disagree"), ("win", "lose"), ("open", "close"),
    ("before", "after"), ("early", "late"), ("first", "second"), ("start", "end"), ("begin", "end"),
    ("morning", "night"), ("old", "young"), ("near", "far"), ("near", "away"), ("front", "rear"), ("front", "back"),
    ("in", "out"), ("inside", "outside"), ("indoor", "outdoor"), ("more", "less"),
)
# fmt: on


def _both_ways() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _CONTRARY:
        one, other = map(word_form, pair)
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITES = _both_ways()


def told_apart(fields: Fields, rarity: Rarity) -> dict[str, float]:
    """By name, as `ngram_answers_overlaps.overlaps`."""
    wanted = content(fields.reference.count, fields.question.count)
    wanted = wanted or content(fields.reference.count) or fields.reference.count
    return {
        **_by_sentence(fields, wanted, rarity),
        **_by_beginning(fields, wanted),
        **_contraries(fields, wanted),
    }


def _by_sentence(fields: Fields, wanted: Mapping[str, int], rarity: Rarity) -> dict[str, float]:
    """Of the first sentence, of the last, where a long answer concludes, and of the best."""
    sentences = _sentences(fields.candidate.raw)
    recall = [coverage(wanted, one.count, rarity) for one in sentences]
    own = [content(one.count, fields.question.count) for one in sentences]
    precision = [coverage(words, fields.reference.count, rarity) for words in own]
    return {
        "first_rc": recall[0],
        "first_cr": precision[0],
        "first_alike": alike(wanted, sentences[0].count, rarity),
        "last_rc": recall[-1],
        "last_cr": precision[-1],
        "last_alike": alike(wanted, sentences[-1].count, rarity),
        "first_to_last": recall[0] - recall[-1],
        "best_f": max(2 * r * p / (r + p) if r + p else 0.0 for r, p in zip(recall, precision, strict=True)),
    }


def _sentences(raw: str) -> list[Text]:
    """At least one."""
    texts = [Text(part) for part in _BETWEEN_SENTENCES.split(raw)]
    return [one for one in texts if one.words] or [Text("")]


def _by_beginning(fields: Fields, wanted: Mapping[str, int]) -> dict[str, float]:
    own = content(fields.candidate.count, fields.question.count)
    found = {}
    for letters in _BEGINNINGS:
        begun = _begun(own, letters)
        found[f"begun{letters}_rc"] = coverage(
            _begun(wanted, letters), _begun(fields.candidate.count, letters)
        )
        found[f"begun{letters}_cr"] = coverage(begun, _begun(fields.reference.count, letters))
        found[f"begun{letters}_cx"] = coverage(begun, _begun(fields.rationale.count, letters))
    return found


def _begun(count: Mapping[str, int], letters: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, times in count.items():
        found[word[:letters]] += times
    return found


def _contraries(fields: Fields, wanted: Mapping[str, int]) -> dict[str, float]:
    c, r = fields.candidate.count, fields.reference.count

    def opposed(words: Mapping[str, int], to: Mapping[str, int], *, said: bool) -> bool:
        return any(
            (word in to) is said and not _OPPOSITES.get(word, frozenset()).isdisjoint(to) for word in words
        )

    return {
        "contrary_said": float(opposed(wanted, c, said=False)),
        "contrary_to_reference": float(opposed(c, r, said=False)),
        "both_said": float(opposed(r, c, said=True)),
        "one_of_two_met": float(any(word in _OPPOSITES and word in c for word in r)),
    }
