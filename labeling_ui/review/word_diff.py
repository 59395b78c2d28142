"""What changed between two texts, word by word, for people to read. Pure: plain strings in, pieces out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "gone", "new"]

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
        return _whole_texts(before, after)
    # Blanks are no anchors: two texts that share only their spaces have nothing in common.
    matcher = SequenceMatcher(str.isspace, old, new, autojunk=False)
    changes: list[tuple[str, str, str]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            changes.append(("".join(old[i1:i2]), "", ""))
        else:
            changes.append(("", "".join(old[i1:i2]), "".join(new[j1:j2])))
    return list(_as_pieces(_merge_adjacent_changes(changes)))


def _whole_texts(before: str, after: str) -> list[Piece]:
    if before == after:
        return [Piece("same", before)]
    return [Piece(kind, text) for kind, text in _deleted_inserted(before, after)]


def _deleted_inserted(gone: str, new: str) -> Iterable[tuple[Kind, str]]:
    if gone:
        yield "gone", gone
    if new:
        yield "new", new


def _merge_adjacent_changes(changes: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Changes with only a blank between them become one: "red cat" to "blue dog" reads better than word for word."""
    found: list[tuple[str, str, str]] = []
    for at, (same, gone, new) in enumerate(changes):
        between = 0 < at < len(changes) - 1
        if same and same.isspace() and "\n" not in same and between:
            gone = new = same
            same = ""
        if not same and found and not found[-1][0]:
            found[-1] = ("", found[-1][1] + gone, found[-1][2] + new)
        else:
            found.append((same, gone, new))
    return found


def _as_pieces(changes: Iterable[tuple[str, str, str]]) -> Iterable[Piece]:
    for same, gone, new in changes:
        if same:
            yield Piece("same", same)
        for kind, text in _deleted_inserted(gone, new):
            yield Piece(kind, text)
