"""Words of a text, as the caption evaluation has them: Penn Treebank tokens in lower case without punctuation.

Its tokenizer is Stanford's, a Java program. This one gives the same words for running English text; where it does not,
`docs/scoring.md` says so. Scripts without blanks between words (Chinese, Japanese) give a word for each character.
"""

from __future__ import annotations

import re
import unicodedata

# A change of this code that changes a word takes a new number.
VERSION = 1

# The caption evaluation's list, and what other spellings and scripts have for it.
_PUNCTUATION = frozenset(".?!,:;-'`\"“”„‘’«»…–—，。、？！：；「」『』《》") | {"''", "``", "--", "..."}
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "‛": "'", "ʼ": "'"})
# Brackets do count there: its list names them in capitals, and its words are in lower case.
_RENAMED = {
    **{"(": ("-lrb-",), ")": ("-rrb-",), "[": ("-lsb-",), "]": ("-rsb-",), "{": ("-lcb-",), "}": ("-rcb-",)},
    **{"cannot": ("can", "not"), "gonna": ("gon", "na"), "gotta": ("got", "ta"), "wanna": ("wan", "na")},
    **{"gimme": ("gim", "me"), "lemme": ("lem", "me")},
}
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Of scripts that write vowels and accents as marks on a letter; no letters to the regular expressions.
_MARKS = "".join(
    chr(code) for code in range(0x300, 0x3000) if unicodedata.category(chr(code)) in ("Mn", "Mc")
)
# A letter or digit of a script with words, not the n of n't.
_LETTER = rf"(?:(?!n't(?![\w']))[^\W_{_IDEOGRAPH}][{_MARKS}]*)"
_TOKEN = re.compile(
    rf"""
    [{_IDEOGRAPH}]                                              # each a word
  | https?://[^\s)]+ | [\w.]+@\w+\.[\w.]*\w                     # addresses
  | </?[a-z_]+>                                                 # <think>
  | (?:[a-z]\.){{2,}} | (?<![\w'])[a-z]\.(?=\s|$)               # a.m., option B.
  | (?:mr|mrs|ms|dr|prof|vs|etc|st|jr|sr|inc|ltd|co|corp)\.(?=\s|$) | no\.(?=\s*\d)
  | (?-i:[A-Z]+&[A-Z]+)                                         # R&B
  | (?<![\w.])[-+]?\d+(?:[.,:]\d+)+ | (?<![\w)])[-+]\d+(?!\w)   # 1,000 and 3.5 and 10:30 and -5
  | n't(?![\w']) | '(?:s|m|d|re|ve|ll)(?![\w']) | '\d0s | o'clock | 'n'
  | (?<!\w)[cf]\#                                                # F#
  | [\#@](?!\d){_LETTER}\w*
  | {_LETTER}+(?:[-_/]{_LETTER}+)*
  | \.\.\. | -- | [*=_~]+ | [?!]{{2,}} | [^\w\s] | \w
    """,
    re.VERBOSE | re.IGNORECASE,
)


def words_of(text: str) -> list[str]:
    """In order, in lower case, without punctuation."""
    tokens = (token.lower() for token in _TOKEN.findall(text.translate(_APOSTROPHES)))
    return [word for token in tokens if token not in _PUNCTUATION for word in _RENAMED.get(token, (token,))]
