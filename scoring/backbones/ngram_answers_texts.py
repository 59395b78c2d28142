"""How texts are cut into words and character n-grams before they are compared: in any language, without a dictionary.

Scripts that are written without spaces are cut into single characters. English gets three things that need no list of
words: numbers and ordinals up to twenty as digits, endings of inflection off, and its negations known.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

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
    """Of one word, its beginning and end marked."""
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
