"""Lexical overlap features of an answer: tokens, n-gram coverage, contrasts and antonyms, numbers, yes/no
verdicts.

Coverage of a by b is the share of a's words (n-grams), repeated ones counted, that b has too; weighted by how rare they
are where that says more. Precision, recall and F of an answer are its coverages with the reference. What the question
says already tells a right answer from a wrong one only where the question offers both; so words beyond the question are
compared once more, alone.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TypeVar

# ── tokens: words and character n-grams in any language, without a dictionary ──
# Scripts that are written without spaces are cut into single characters. English gets three things that need no list
# of words: numbers and ordinals up to twenty as digits, endings of inflection off, and its negations known.

# fmt: off
_CARDINALS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_FUNCTION_WORDS = (
    "a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "of", "in", "on", "at", "to", "for", "and",
    "or", "as", "by", "with", "from", "that", "this", "these", "those", "it", "its", "there", "their", "they", "he",
    "she", "his", "her", "i", "you", "we", "my", "your", "our", "do", "does", "did", "has", "have", "had",
    "will", "would", "can", "could", "should", "may", "might", "which", "who", "what", "when", "where", "how", "why",
    "not", "no",
)
# fmt: on
_AS_DIGITS = {
    **{word: str(at) for at, word in enumerate(_CARDINALS)},
    **{word: f"{at}#" for at, word in enumerate(_ORDINALS, start=1)},
    **{"once": "1", "twice": "2", "thrice": "3", "single": "1"},
}
YES, NO = frozenset({"yes", "yeah", "correct", "true"}), frozenset({"no", "not", "nope", "false"})
_NEGATIONS = NO | {"never", "none", "cannot", "without", "neither", "nor", "incorrect", "unable"}
_ENDINGS = ("ing", "edly", "ed", "es", "ly", "s")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_WORD = re.compile(
    r"[a-z0-9]+(?:'[a-z]+)?"
    r"|[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0eff]"  # kana, Chinese characters, Thai and Lao
    r"|[^\W_a-z0-9]+"
)
SHORTEST_GRAM, LONGEST_GRAM = 2, 5


@lru_cache(maxsize=65536)
def word_form(word: str) -> str:
    """One for "increases" and "increased", for "two" and 2, for "second" and "2nd"."""
    word = word.removesuffix("'s")
    if word in _AS_DIGITS:
        return _AS_DIGITS[word]
    if ordinal := _ORDINAL.fullmatch(word):
        return f"{ordinal[1]}#"
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            break
    # As "increased" and "increasing" lose theirs.
    return word.removesuffix("e") if len(word) > 4 else word


# Words that carry no answer by themselves, in the form in which they are compared.
FUNCTION_WORDS = frozenset(map(word_form, _FUNCTION_WORDS))


@lru_cache(maxsize=65536)
def trigrams(word: str) -> frozenset[str]:
    """The n-grams of one word, its beginning and end marked."""
    marked = f" {word} "
    return frozenset(marked[at : at + 3] for at in range(len(marked) - 2))


@dataclass(frozen=True, eq=False)
class Text:
    """One field of an answer."""

    raw: str

    @cached_property
    def plain(self) -> str:
        return unicodedata.normalize("NFKC", self.raw).lower().replace("\u2019", "'")

    @cached_property
    def spelt(self) -> list[str]:
        return _WORD.findall(self.plain)

    @cached_property
    def words(self) -> list[str]:
        return [word_form(word) for word in self.spelt]

    @cached_property
    def count(self) -> Counter[str]:
        return Counter(self.words)

    @cached_property
    def pairs(self) -> Counter[tuple[str, str]]:
        return Counter(pairwise(self.words))

    @cached_property
    def squeezed(self) -> str:
        """Letters and digits alone: "hip-hop" as "hiphop"."""
        return "".join(self.spelt).replace("'", "")

    @cached_property
    def grams(self) -> dict[int, Counter[str]]:
        """Character n-grams of the words as they are spelt, by length."""
        line = f" {' '.join(self.spelt)} " if self.spelt else ""
        return {
            n: Counter(line[at : at + n] for at in range(len(line) - n + 1))
            for n in range(SHORTEST_GRAM, LONGEST_GRAM + 1)
        }

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.count if word[0].isdigit())

    @cached_property
    def negations(self) -> int:
        return sum(word in _NEGATIONS or word.endswith("n't") for word in self.spelt)

    @cached_property
    def verdict(self) -> float:
        """1 for an answer that begins with yes, -1 with no, 0 for any other."""
        first = self.spelt[:3]
        return 1.0 if YES & set(first) else -1.0 if NO & set(first) else 0.0

    @cached_property
    def stance(self) -> float:
        """The verdict, or where there is none, whether the first words deny something; 0 for an empty text."""
        if self.verdict or not self.spelt:
            return self.verdict
        first = self.spelt[:25]
        return -1.0 if any(word in _NEGATIONS or word.endswith("n't") for word in first) else 1.0


# ── coverage: the share of one text's words or n-grams that another has, from 0 to 1 ──

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
        texts = (self.candidate, self.reference, self.question, self.rationale, self.transcript)
        return texts["crqxt".index(letter)]


def coverage(of: Mapping[W, int], by: Mapping[W, int], rarity: Callable[[W], float] | None = None) -> float:
    """0 where there is nothing to cover."""
    total = covered = 0.0
    for word, times in of.items():
        weight = rarity(word) if rarity else 1.0
        total += weight * times
        covered += weight * min(times, by.get(word, 0))
    return covered / total if total else 0.0


def content_words(count: Mapping[str, int], *without: Mapping[str, int]) -> dict[str, int]:
    """The words that say something and are in none of the others."""
    return {
        word: times
        for word, times in count.items()
        if word not in FUNCTION_WORDS and not any(word in other for other in without)
    }


def fuzzy_coverage(of: Mapping[str, int], by: Mapping[str, int], rarity: Rarity) -> float:
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


# ── place and negation: they tell apart answers that share as many words with the reference ──

_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
# So many first letters are what inflected and derived forms share.
_BEGINNINGS = (4, 5)

# Two that cannot both be the answer, of what questions about sounds, music and speech ask for.
# fmt: off
_ANTONYMS = (
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


def _antonyms_both_ways() -> dict[str, frozenset[str]]:
    opposites: defaultdict[str, set[str]] = defaultdict(set)
    for one, other in _ANTONYMS:
        opposites[word_form(one)].add(word_form(other))
        opposites[word_form(other)].add(word_form(one))
    return {word: frozenset(others) for word, others in opposites.items()}


_OPPOSITES = _antonyms_both_ways()


def _by_sentence(fields: Fields, key_words: Mapping[str, int], rarity: Rarity) -> dict[str, float]:
    """Of the first sentence, of the last, where a long answer concludes, and of the best."""
    sentences = _sentences(fields.candidate.raw)
    recall = [coverage(key_words, one.count, rarity) for one in sentences]
    own = [content_words(one.count, fields.question.count) for one in sentences]
    precision = [coverage(words, fields.reference.count, rarity) for words in own]
    return {
        "first_rc": recall[0],
        "first_cr": precision[0],
        "first_alike": fuzzy_coverage(key_words, sentences[0].count, rarity),
        "last_rc": recall[-1],
        "last_cr": precision[-1],
        "last_alike": fuzzy_coverage(key_words, sentences[-1].count, rarity),
        "first_to_last": recall[0] - recall[-1],
        "best_f": max(2 * r * p / (r + p) if r + p else 0.0 for r, p in zip(recall, precision, strict=True)),
    }


def _sentences(raw: str) -> list[Text]:
    """At least one."""
    texts = [Text(part) for part in _BETWEEN_SENTENCES.split(raw)]
    return [one for one in texts if one.words] or [Text("")]


def _by_beginning(fields: Fields, key_words: Mapping[str, int]) -> dict[str, float]:
    own = content_words(fields.candidate.count, fields.question.count)
    features = {}
    for letters in _BEGINNINGS:
        begun = _count_prefixes(own, letters)
        features[f"begun{letters}_rc"] = coverage(
            _count_prefixes(key_words, letters), _count_prefixes(fields.candidate.count, letters)
        )
        features[f"begun{letters}_cr"] = coverage(begun, _count_prefixes(fields.reference.count, letters))
        features[f"begun{letters}_cx"] = coverage(begun, _count_prefixes(fields.rationale.count, letters))
    return features


def _count_prefixes(count: Mapping[str, int], letters: int) -> Counter[str]:
    prefixes: Counter[str] = Counter()
    for word, times in count.items():
        prefixes[word[:letters]] += times
    return prefixes


def _antonym_features(fields: Fields, key_words: Mapping[str, int]) -> dict[str, float]:
    c, r = fields.candidate.count, fields.reference.count

    def opposed(words: Mapping[str, int], to: Mapping[str, int], *, is_present: bool) -> bool:
        return any(
            (word in to) is is_present and not _OPPOSITES.get(word, frozenset()).isdisjoint(to)
            for word in words
        )

    return {
        "contrary_said": float(opposed(key_words, c, is_present=False)),
        "contrary_to_reference": float(opposed(c, r, is_present=False)),
        "both_said": float(opposed(r, c, is_present=True)),
        "one_of_two_met": float(any(word in _OPPOSITES and word in c for word in r)),
    }


# Which fields are compared: candidate, reference, question, rationale, transcript.
_COMPARED = tuple(
    (pair[0], pair[1]) for pair in ("rc", "cr", "qc", "cq", "xc", "cx", "rx", "rq", "qr", "tc", "ct")
)
_YES_NO_QUESTION = re.compile(r"^\W*(is|are|was|were|do|does|did|can|could|will|would|has|have|had|should)\b")
_LONGEST_ALIGNED = 400


def overlap_features(fields: Fields, rarity: Rarity) -> dict[str, float]:
    """By name, the same names in the same order for all answers."""
    key_words = content_words(fields.reference.count, fields.question.count)
    key_words = key_words or content_words(fields.reference.count) or fields.reference.count
    return {
        **_coverages(fields, rarity),
        **_beyond_question(fields, rarity),
        **_of_grams(fields, rarity),
        **_order(fields),
        **_numbers(fields),
        **_verdicts(fields),
        **_alternatives(fields),
        **_by_sentence(fields, key_words, rarity),
        **_by_beginning(fields, key_words),
        **_antonym_features(fields, key_words),
        **_style(fields),
    }


def _coverages(fields: Fields, rarity: Rarity) -> dict[str, float]:
    features = {}
    for name, weight in (("plain", None), ("rare", rarity)):
        for a, b in _COMPARED:
            features[f"{name}_{a}{b}"] = coverage(fields[a].count, fields[b].count, weight)
        recall, precision = features[f"{name}_rc"], features[f"{name}_cr"]
        features[f"{name}_f"] = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    for other in "rxq":
        features[f"pairs_{other}c"] = coverage(fields[other].pairs, fields.candidate.pairs)
    return features


def _beyond_question(fields: Fields, rarity: Rarity) -> dict[str, float]:
    candidate, reference, rationale = fields.candidate.count, fields.reference.count, fields.rationale.count
    question = fields.question.count
    new_c, new_r, new_x = (content_words(count, question) for count in (candidate, reference, rationale))
    own = content_words(candidate, question, reference)

    def weight(words: Iterable[str]) -> float:
        return math.log1p(sum(rarity(word) for word in words))

    return {
        "new_rc": coverage(new_r, new_c, rarity),
        "new_cr": coverage(new_c, new_r, rarity),
        "new_xc": coverage(new_x, new_c, rarity),
        "new_cx": coverage(new_c, new_x, rarity),
        "own_cx": coverage(own, rationale, rarity),
        "new_r": math.log1p(len(new_r)),
        "new_c": math.log1p(len(new_c)),
        "nothing_new_r": float(not new_r),
        "nothing_new_c": float(not new_c),
        "missed": weight([word for word in new_r if word not in candidate]),
        "met": weight([word for word in new_r if word in candidate]),
        "added": weight(own),
        "unfounded": weight([word for word in own if word not in rationale]),
        "alike_rc": fuzzy_coverage(new_r or reference, candidate, rarity),
        "alike_cr": fuzzy_coverage(new_c or candidate, reference, rarity),
    }


def _of_grams(fields: Fields, rarity: Rarity) -> dict[str, float]:
    features = {}
    for n in range(SHORTEST_GRAM, LONGEST_GRAM + 1):
        own = {letter: fields[letter].grams[n] for letter in "crqx"}
        # Those of four letters say most of how rare they are: shorter ones are in every text, longer ones in few.
        weight = rarity if n == 4 else None
        features[f"grams{n}_rc"] = coverage(own["r"], own["c"], weight)
        features[f"grams{n}_cr"] = coverage(own["c"], own["r"], weight)
        if n in (3, 4):
            for a, b in ("cr", "cx", "cq", "rx"):
                features[f"cosine{n}_{a}{b}"] = _cosine(own[a], own[b], weight)
    return features


def _cosine(a: Mapping[str, int], b: Mapping[str, int], rarity: Rarity | None) -> float:
    def squares(count: Mapping[str, int]) -> float:
        return sum(((rarity(gram) if rarity else 1.0) * times) ** 2 for gram, times in count.items())

    below = math.sqrt(squares(a) * squares(b))
    dot = sum(
        (rarity(gram) if rarity else 1.0) ** 2 * times * b[gram] for gram, times in a.items() if gram in b
    )
    return dot / below if below else 0.0


def _order(fields: Fields) -> dict[str, float]:
    c, r = fields.candidate.words, fields.reference.words
    key_words = content_words(fields.reference.count, fields.question.count) or fields.reference.count
    hits = [at for at, word in enumerate(c) if word in key_words]
    common = _longest_common(r[:_LONGEST_ALIGNED], c[:_LONGEST_ALIGNED])
    squeezed, sought = fields.candidate.squeezed, fields.reference.squeezed
    return {
        "in_order_r": common / len(r) if r else 0.0,
        "in_order_c": common / len(c) if c else 0.0,
        "concordant": _concordance(r, c),
        "equal": float(c == r),
        "contained": float(bool(r) and f" {' '.join(r)} " in f" {' '.join(c)} "),
        "squeezed_in": float(len(sought) > 2 and sought in squeezed),
        "squeezed_equal": float(bool(sought) and sought == squeezed),
        "squeezed_around": float(len(squeezed) > 2 and squeezed in sought),
        "first_hit": hits[0] / len(c) if hits else 1.0,
        "last_hit": hits[-1] / len(c) if hits else 0.0,
        "hits": len(hits) / len(c) if c else 0.0,
    }


def _longest_common(a: list[str], b: list[str]) -> int:
    """The length of the longest common subsequence."""
    before = [0] * (len(b) + 1)
    for word in a:
        row = [0]
        for at, other in enumerate(b):
            row.append(before[at] + 1 if word == other else max(before[at + 1], row[-1]))
        before = row
    return before[-1]


def _concordance(a: list[str], b: list[str]) -> float:
    """Kendall's tau of where the words that both texts have once stand: from near to far is not from far to near."""
    place = {word: at for at, word in enumerate(b)}
    shared = [place[word] for word in a if a.count(word) == 1 and word in place][:40]
    signs = [1 if later > one else -1 for at, one in enumerate(shared) for later in shared[at + 1 :]]
    return sum(signs) / len(signs) if signs else 0.0


def _numbers(fields: Fields) -> dict[str, float]:
    c, r, q = fields.candidate.numbers, fields.reference.numbers, fields.question.numbers
    bare_c, bare_r = ({number.rstrip("#") for number in numbers} for numbers in (c, r))
    return {
        "number_r": float(bool(r)),
        "number_c": float(bool(c)),
        "number_met": float(bool(r) and bare_r <= bare_c),
        "number_missed": float(bool(r) and bool(c) and not bare_r & bare_c),
        "number_added": float(bool(c - r - q)),
        "number_off": _distance(bare_r, bare_c),
    }


def _distance(reference: set[str], candidate: set[str]) -> float:
    """How far the nearest number is from the one that is wanted, on a logarithmic scale that ends at 3; 1.5 where no
    number is given, 0 where none or several are wanted."""
    if len(reference) != 1:
        return 0.0
    (sought,) = reference
    values = [float(number) for number in candidate if number.isdecimal() and len(number) < 16]
    if not values or not sought.isdecimal() or len(sought) > 15:
        return 1.5
    return min(math.log1p(min(abs(float(sought) - value) for value in values)), 3.0)


def _verdicts(fields: Fields) -> dict[str, float]:
    c, r = fields.candidate, fields.reference
    is_yes_no = float(bool(_YES_NO_QUESTION.match(fields.question.plain)))
    return {
        "verdict_r": r.verdict,
        "verdict_c": c.verdict,
        "verdicts": c.verdict * r.verdict,
        "yes_no_asked": is_yes_no,
        "stances": is_yes_no * c.stance * r.stance,
        "denied_c": float(min(c.negations, 3)),
        "denied_r": float(min(r.negations, 2)),
        "denied_x": float(min(fields.rationale.negations, 3)),
        "denials_differ": float(bool(c.negations) != bool(r.negations)),
    }


def _alternatives(fields: Fields) -> dict[str, float]:
    """The words of the question that the reference has too, and those beside an "or" that it has not."""
    c, r, q = fields.candidate.count, fields.reference.count, fields.question
    offered = Counter({word: 1 for word in q.count if word in r and word not in FUNCTION_WORDS})
    beside = {
        word
        for at, joint in enumerate(q.words)
        if joint == "or"
        for word in q.words[max(at - 3, 0) : at + 4]
        if word not in r and word not in FUNCTION_WORDS
    }
    return {
        "offered": float("or" in q.count),
        "told_met": coverage(offered, c),
        "told": float(bool(offered)),
        "rivals_met": coverage(Counter(beside), c),
    }


def _style(fields: Fields) -> dict[str, float]:
    c, raw = fields.candidate, fields.candidate.raw
    lengths = {f"words_{letter}": math.log1p(len(fields[letter].words)) for letter in "crqxt"}
    return {
        **lengths,
        **{f"characters_{letter}": math.log1p(len(fields[letter].raw)) for letter in "cr"},
        "longer": lengths["words_c"] - lengths["words_r"],
        "distinct": len(c.count) / len(c.words) if c.words else 0.0,
        "sentences": math.log1p(len(re.findall(r"[.!?。！？]", raw))),
        "lines": math.log1p(raw.count("\n")),
        "listed": float(raw.startswith("[")),
        "commas_c": math.log1p(raw.count(",")),
        "commas_r": math.log1p(fields.reference.raw.count(",")),
        "quotes": math.log1p(raw.count('"') + raw.count("'")),
        "ended": float(raw.rstrip()[-1:] in tuple(".!?'\"]。！？")),
        "capital": float(raw[:1].isupper()),
        "foreign": sum(not character.isascii() for character in raw) / max(len(raw), 1),
    }
