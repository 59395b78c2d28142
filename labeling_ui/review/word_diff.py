"""What changed between two texts, word by word, for people to read. Pure: plain strings in, pieces out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "gone", "new"]
KINDS: tuple[Kind, ...] = ("same", "gone", "new")

# Beyond this many words and signs on a side, the two texts are shown whole: matching grows with their product.
MOST_TOKENS = 4000

# A line end, a run of other blanks, a character of a script written without blanks, a word, or one sign.
_TOKEN = re.compile(
    r"\n|[^\S\n]+|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+|."
)


@dataclass(frozen=True)
class Piece:
    """A stretch of text. `same` and `gone` pieces in order make up the text before, `same` and `new` the one after."""

    kind: Kind
    text: str


def diff_words(before: str, after: str) -> list[Piece]:
    """The two texts as one, what is gone before what took its place. Two equal pieces never follow one another."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if max(len(old), len(new)) > MOST_TOKENS:
        changes = [(before, "", "")] if before == after else [("", before, after)]
    else:
        # Blanks are no anchors: two texts that share only their spaces have nothing in common.
        matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
        changes = _merge_adjacent_changes(
            [
                ("".join(old[i1:i2]), "", "")
                if tag == "equal"
                else ("", "".join(old[i1:i2]), "".join(new[j1:j2]))
                for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            ]
        )
    return [Piece(kind, text) for change in changes for kind, text in zip(KINDS, change, strict=True) if text]


def _merge_adjacent_changes(changes: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Changes with only a blank between them become one: "red cat" to "blue dog" reads better than word for word."""
    merged: list[tuple[str, str, str]] = []
    for at, (same, gone, new) in enumerate(changes):
        between = 0 < at < len(changes) - 1
        if same and same.isspace() and "\n" not in same and between:
            same, gone, new = "", same, same
        if not same and merged and not merged[-1][0]:
            merged[-1] = ("", merged[-1][1] + gone, merged[-1][2] + new)
        else:
            merged.append((same, gone, new))
    return merged
