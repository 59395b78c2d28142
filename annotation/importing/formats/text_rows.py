"""Rows of texts alone, encoded for staging at once: `table` makes the same task of each by way of its records.

Which columns there are and what type each value has is a row's shape; most rows of a table have the same. What can be
known of a shape is found out once. A row that needs more than a look at its texts (a sound, an answer, a value that is
no text, anything that may be a fault) is left to `table`, which finds its words for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from annotation.importing.formats import columns
from annotation.importing.records import (
    LIST_SEPARATOR,
    MAX_ID_LENGTH,
    MAX_NAME_LENGTH,
    MAX_TEXT_LENGTH,
    EncodedTask,
    task_name,
    text_digest,
)
from annotation.protocols import Protocol

Shape = tuple[tuple[str, ...], tuple[type, ...]]
RowEncoder = Callable[[str, Mapping[str, Any]], EncodedTask | None]
_PLAIN_TYPES = {str, int, type(None)}
# A table whose rows all differ in shape is read by its records.
MAX_SHAPES = 200
# The ends of columns that name a row's candidates, by the layout of the protocol.
_ENDS = {"rating": ("",), "comparison": ("_a", "_b")}


def shape_of(entry: Mapping[str, Any]) -> Shape:
    return tuple(entry), tuple(map(type, entry.values()))


@dataclass
class TextRows:
    """Encodes those rows of a table that are texts alone, None for the others."""

    protocol: Protocol
    column_map: Mapping[str, str]
    _encoders: dict[Shape, RowEncoder | None] = field(default_factory=dict)

    def encode(self, row: str, entry: Mapping[str, Any], shape: Shape) -> EncodedTask | None:
        if shape in self._encoders:
            encoder = self._encoders[shape]
        else:
            encoder = self._encoder(shape) if len(self._encoders) < MAX_SHAPES else None
            self._encoders[shape] = encoder
        return encoder and encoder(row, entry)

    def _encoder(self, shape: Shape) -> RowEncoder | None:
        protocol = self.protocol
        ends = _ENDS.get(protocol.layout, ())
        least, most = protocol.candidates
        if protocol.candidate != "text" or protocol.added or not least <= len(ends) <= most:
            return None
        names = [self.column_map.get(column, column).strip() for column in shape[0]]
        fields = [name for name in names if name]
        if not _PLAIN_TYPES.issuperset(shape[1]) or len(set(fields)) < len(fields):
            return None
        if not all(map(columns.is_field, fields)) or "item_id" not in fields:
            return None
        return _encoder_of(names, ends, all_texts=set(shape[1]) == {str})


def _encoder_of(names: list[str], ends: tuple[str, ...], *, all_texts: bool) -> RowEncoder | None:
    """What encodes rows of these fields, a name for each column, by the places of their cells."""
    at = {name: place for place, name in enumerate(names) if name}
    texts = sorted((ours, at[theirs]) for theirs, ours in columns.ITEM_TEXTS.items() if theirs in at)
    strata = [
        (match[1], place) for name, place in at.items() if (match := columns.STRATUM_COLUMN.match(name))
    ]
    shown = {
        "item_id",
        *columns.ITEM_TEXTS,
        *(f"{name}{end}" for name in ("system", "answer") for end in ends),
    }
    others = [
        place for name, place in at.items() if name not in shown and not columns.STRATUM_COLUMN.match(name)
    ]
    item_at = at["item_id"]
    has_systems = any(name.startswith("system") for name in at)
    # Of each candidate the place of its system, or what it is called without, of its text, and its column of audio.
    candidates = [
        (
            at.get(f"system{end}"),
            "" if has_systems else end.lstrip("_").upper() or columns.UNNAMED_SYSTEM,
            at.get(f"answer{end}"),
            f"audio{end}",
        )
        for end in ends
    ]

    def encode(row: str, entry: Mapping[str, Any]) -> EncodedTask | None:
        if all_texts:
            cells = list(map(str.strip, entry.values()))
        else:
            cells = ["" if value is None else str(value).strip() for value in entry.values()]
        item_id, whole = cells[item_at], "\n".join(cells)
        if not item_id or len(item_id) > MAX_ID_LENGTH or len(whole) > MAX_TEXT_LENGTH:
            return None
        if "\0" in whole or LIST_SEPARATOR in whole:
            return None
        for place in others:
            if cells[place]:
                return None
        listed = []
        for system_at, name, text_at, column in candidates:
            system = cells[system_at] if system_at is not None else name
            if not system or len(system) > MAX_NAME_LENGTH:
                return None
            listed.append((system, "" if text_at is None else cells[text_at], column))
        listed.sort(key=_order)
        content = {name: cells[place] for name, place in texts if cells[place]}
        try:
            item = orjson.dumps([content, None, None])
            shown = orjson.dumps([(system, text, None, "judged") for system, text, _ in listed])
            rest = orjson.dumps(
                [
                    {name: cells[place] for name, place in strata if cells[place]},
                    [column for *_, column in listed],
                ]
            )
        except TypeError:  # half a character, which no text can hold
            return None
        called = [f"{system}:{text_digest(text)}" if text else system for system, text, _ in listed]
        item_hash = int.from_bytes(blake2b(item, digest_size=8).digest(), "big", signed=True)
        name = task_name(item_id, called)
        return EncodedTask(
            row, name, item_id, item_hash, item.decode(), shown.decode(), rest.decode(), None, 0, 0
        )

    return encode


def _order(candidate: tuple[str, str, str]) -> tuple[str, str]:
    return candidate[:2]
