"""Rows of a release as JSON, made a column at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analytics.releases.columns import SEPARATOR, Column, with_null

# The backslash first: the others bring more of them.
_ESCAPES = {"\\": "\\\\", '"': '\\"'}
_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(1, 0x20)} | {
    "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f",
}  # fmt: skip
_FIRST_PRINTED = 0x20
_MOMENT = len("2026-03-01 09:30:00.000000")
# A column with no more different values in a block than this is written together with its neighbours of that kind.
_FEW = 256


def json_lines(read: Mapping[str, pa.Array], columns: Sequence[Column]) -> memoryview:
    """Rows as read from COPY, one JSON object per line.

    Joining texts row by row is what costs. Where neighbouring columns have few values, few of their combinations occur,
    so that part of the line is written once for each of these. All else is joined once, with what stands between.
    """
    pieces: list[Any] = ["{"]
    for alike, run in _runs(read, columns):
        pieces += [", "] if len(pieces) > 1 else []
        pieces += [_combined(alike, run)] if alike else _separate(read, run)
    return _bytes(_joined([*pieces, "}\n"]))


def _runs(
    read: Mapping[str, pa.Array], columns: Sequence[Column]
) -> Iterator[tuple[list[pa.DictionaryArray], list[Column]]]:
    """Neighbouring columns; with their values, where these are few."""
    encoded = [(column, _few(read[column.name], column.kind)) for column in columns]
    for is_few, run in groupby(encoded, lambda one: one[1] is not None):
        members = list(run)
        yield [values for _, values in members if is_few], [column for column, _ in members]


def _few(values: pa.Array, kind: str) -> pa.DictionaryArray | None:
    if values.null_count < len(values) and kind in ("text", "json", "moment"):
        return None
    if not isinstance(values, pa.DictionaryArray):
        values = values.dictionary_encode()
    return with_null(values) if len(values.dictionary) <= _FEW else None


def _separate(read: Mapping[str, pa.Array], run: Sequence[Column]) -> list[Any]:
    pieces: list[Any] = []
    for column in run:
        start = ", " if pieces else ""
        pieces += [f'{start}"{column.name}": ', *_pieces(read[column.name], column.kind)]
    return pieces


def _joined(pieces: Sequence[Any]) -> pa.Array:
    """Texts that are the same in each row, and arrays of those that are not, in one."""
    told: list[Any] = []
    for same, run in groupby(pieces, lambda piece: isinstance(piece, str)):
        members = list(run)
        told += ["".join(members)] if same else members
    return pc.binary_join_element_wise(*told, "")


def _combined(alike: Sequence[pa.DictionaryArray], run: Sequence[Column]) -> pa.Array:
    """One array, with what is written for a combination wherever it occurs. `alike` have what is missing as a value."""
    told = {column.name: values for column, values in zip(run, alike, strict=True)}
    which = np.zeros(len(alike[0]), np.int64)
    size = 1
    for values in alike:
        if len(values.dictionary) == 1:
            continue
        size *= len(values.dictionary)
        which = which * len(values.dictionary) + values.indices.to_numpy()
        if size > 2**54:  # the next factor is _FEW + 1 at most; number what occurs anew
            which = np.unique(which, return_inverse=True)[1]
            size = len(which)
    combination = pa.array(which).dictionary_encode()
    like = combination.indices
    one = np.empty(len(combination.dictionary), np.int64)
    one[like.to_numpy()] = np.arange(len(like))  # any row with it does
    once = {name: values.take(pa.array(one)) for name, values in told.items()}
    return _joined(_separate(once, run)).take(like)


def _pieces(values: pa.Array, kind: str) -> list[Any]:
    """What `_joined` makes each cell's JSON of; what is missing is null. Values of kind `json` are JSON already."""
    if isinstance(values, pa.DictionaryArray):
        values = with_null(values)
        return [_joined(_pieces(values.dictionary, kind)).take(values.indices)]
    if kind in ("text", "word", "moment"):
        shown = ['"', _iso(values), 'Z"'] if kind == "moment" else ['"', _escaped(values), '"']
    elif kind in ("texts", "ints"):
        shown = [_list(values, quote='"' if kind == "texts" else "")]
    else:
        shown = [values if kind == "json" else pc.cast(values, pa.string())]
    return [pc.fill_null(_joined(shown), "null")] if values.null_count else shown


def _list(values: pa.Array, *, quote: str) -> pa.Array:
    filled = pc.fill_null(values, "")
    inner = pc.utf8_slice_codeunits(filled, 1)
    if quote:
        inner = _escaped(inner, but=SEPARATOR)
    joined = pc.replace_substring(inner, SEPARATOR, f"{quote}, {quote}")
    full = pc.binary_join_element_wise(f"[{quote}", joined, f"{quote}]", "")
    return pc.if_else(pc.equal(filled, ""), "[]", full)


def _iso(values: pa.Array) -> pa.Array:
    """2026-03-01T09:30:00.000000; no time zone is written."""
    shown = pc.cast(values, pa.string())
    if values.null_count or len(text := _bytes(shown)) != _MOMENT * len(values):
        return pc.replace_substring(shown, " ", "T")
    cells = np.frombuffer(text, np.uint8).reshape(len(values), _MOMENT).copy()
    cells[:, _MOMENT - len(" 09:30:00.000000")] = ord("T")
    return pa.StringArray.from_buffers(len(values), shown.buffers()[1], pa.py_buffer(cells))


def _escaped(values: pa.Array, *, but: str = "") -> pa.Array:
    """Texts as JSON writes them between quotes. Most have nothing to escape, and cost a look at all of them at once."""
    text = bytes(_bytes(values))
    has_controls = text and np.frombuffer(text, np.uint8).min() < _FIRST_PRINTED
    for character, written in (_ESCAPES | (_CONTROLS if has_controls else {})).items():
        if character != but and character.encode() in text:
            values = pc.replace_substring(values, character, written)
    return values


def _bytes(lines: pa.Array) -> memoryview:
    """All texts of an array in one piece, without a copy."""
    if lines.null_count == len(lines):
        return memoryview(b"")
    offsets = memoryview(lines.buffers()[1]).cast("i")
    start, stop = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return memoryview(lines.buffers()[2])[start:stop]
