"""Measures of shared words: BLEU, ROUGE-L, CIDEr-D and exact match, of words in lists.

The first three are those of the caption evaluation (tylin/coco-caption, and aac-metrics after it), constants and all.
Of several references each measure takes what its paper says.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Words = Sequence[str]
Ngram = tuple[str, ...]
MAX_ORDER = 4


def ngram_counts(words: Words, *, up_to: int) -> Counter[Ngram]:
    """All n-grams of 1 to `up_to` words and how often each occurs."""
    return Counter(
        tuple(words[start : start + n]) for n in range(1, up_to + 1) for start in range(len(words) - n + 1)
    )


# ── BLEU (Papineni et al., ACL 2002) ──

# The caption evaluation's: no count is 0 and no divisor is.
_TINY, _SMALL = 1e-15, 1e-9


def bleu(answer: Words, references: Sequence[Words], *, order: int, smoothing: str = "caption") -> float:
    """From 0 to 1. The reference length is that of the reference nearest in length, the shorter of two.

    `smoothing`: "caption" multiplies the precisions of all orders up to `order`, each with tiny constants, so that an
    answer of fewer words than `order` comes out near 0; "exp" is NIST's (mteval-13a, sacrebleu's default for a
    sentence): a precision of 0 counts as half of 1, then a quarter, …, and only orders that the answer has are used.
    """
    matches, totals = _clipped_matches(answer, references, order=order)
    length = min((abs(len(one) - len(answer)), len(one)) for one in references)[1]
    if smoothing == "exp":
        return _bleu_exp(matches, totals, len(answer), length)
    product = math.prod((m + _TINY) / (n + _SMALL) for m, n in zip(matches, totals, strict=True))
    ratio = (len(answer) + _TINY) / (length + _SMALL)
    return product ** (1 / order) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)


def _clipped_matches(
    answer: Words, references: Sequence[Words], *, order: int
) -> tuple[list[int], list[int]]:
    """By order from 1: n-grams of the answer that a reference has as often, and all of them."""
    most: Counter[Ngram] = Counter()
    for reference in references:
        most |= ngram_counts(reference, up_to=order)
    matches = [0] * order
    for ngram, n in (ngram_counts(answer, up_to=order) & most).items():
        matches[len(ngram) - 1] += n
    return matches, [max(len(answer) - n + 1, 0) for n in range(1, order + 1)]


def _bleu_exp(matches: Sequence[int], totals: Sequence[int], length: int, reference_length: int) -> float:
    if not any(matches):
        return 0.0
    logs, share = [], 1.0
    for m, n in zip(matches, totals, strict=True):
        if not n:
            break
        if not m:
            share /= 2
        logs.append(math.log((m or share) / n))
    brevity = min(0.0, 1 - reference_length / length)
    return math.exp(brevity + math.fsum(logs) / len(logs))


# ── ROUGE-L (Lin, 2004) ──


def rouge_l(answer: Words, references: Sequence[Words], *, beta: float) -> float:
    """The F-measure of the longest common subsequence, from 0 to 1; recall counts `beta` times as much as precision.
    The caption evaluation has beta 1.2, rouge-score 1. Of several, the best precision and the best recall."""
    shared = [longest_common_subsequence(answer, reference) for reference in references]
    if not any(shared):
        return 0.0
    precision = max(shared) / len(answer)
    recall = max(n / len(reference) for n, reference in zip(shared, references, strict=True) if reference)
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def longest_common_subsequence(one: Words, other: Words) -> int:
    """Its length."""
    row = [0] * (len(other) + 1)
    for word in one:
        before = 0
        for place, each in enumerate(other, 1):
            before, row[place] = row[place], before + 1 if word == each else max(row[place], row[place - 1])
    return row[-1]


# ── CIDEr-D (Vedantam et al., CVPR 2015) ──

_LENGTH_DEVIATION = 6.0
_SCALE = 10.0


@dataclass(frozen=True)
class Corpus:
    """In how many documents each n-gram occurs. A document is what is known of one item: its references."""

    n_documents: int
    frequencies: Counter[Ngram]

    @classmethod
    def of(cls, documents: Iterable[Sequence[Words]]) -> Corpus:
        frequencies: Counter[Ngram] = Counter()
        n = 0
        for references in documents:
            n += 1
            frequencies.update({ngram for one in references for ngram in ngram_counts(one, up_to=MAX_ORDER)})
        return cls(n, frequencies)

    @cached_property
    def log_size(self) -> float:
        return math.log(self.n_documents)

    def vectors(self, words: Words) -> list[dict[Ngram, float]]:
        """By order from 1: counts weighed by inverse document frequency. What no document has counts as in one."""
        found: list[dict[Ngram, float]] = [{} for _ in range(MAX_ORDER)]
        for ngram, n in ngram_counts(words, up_to=MAX_ORDER).items():
            found[len(ngram) - 1][ngram] = n * (self.log_size - math.log(max(self.frequencies[ngram], 1)))
        return found


def cider_d(answer: Words, references: Sequence[Words], corpus: Corpus) -> float:
    """From 0 to 10: the mean over orders 1 to 4 and over references of the clipped cosine of weighed n-grams, less
    for a difference in length."""
    own = corpus.vectors(answer)
    return (
        _SCALE
        * math.fsum(
            _cider_of_order(vector, other) * _length_penalty(answer, reference)
            for reference in references
            for vector, other in zip(own, corpus.vectors(reference), strict=True)
        )
        / (MAX_ORDER * len(references))
    )


def _cider_of_order(own: dict[Ngram, float], other: dict[Ngram, float]) -> float:
    norms = math.hypot(*own.values()) * math.hypot(*other.values())
    if not norms:
        return 0.0
    return (
        math.fsum(min(x, other[ngram]) * other[ngram] for ngram, x in own.items() if ngram in other) / norms
    )


def _length_penalty(answer: Words, reference: Words) -> float:
    """By the number of word pairs, as published."""
    difference = max(len(answer) - 1, 0) - max(len(reference) - 1, 0)
    return math.exp(-(difference**2) / (2 * _LENGTH_DEVIATION**2))


def references_digest(references: Iterable[str]) -> str:
    """Over the texts in any order, each as often as it occurs."""
    return hashlib.sha256(json.dumps(sorted(references), ensure_ascii=False).encode()).hexdigest()


# ── exact match (Rajpurkar et al., EMNLP 2016) ──

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalised(text: str) -> str:
    """As SQuAD compares answers: lower case, without ASCII's punctuation and English articles, single blanks. Also,
    other scripts' punctuation goes too, and compatible characters (full width, ligatures) are written the common way;
    signs such as ♯ stay."""
    folded = unicodedata.normalize("NFKC", text).lower()
    left = (
        letter
        for letter in folded
        if letter not in string.punctuation and not unicodedata.category(letter).startswith("P")
    )
    return " ".join(_ARTICLES.sub(" ", "".join(left)).split())
