"""Cells of a release as typed Arrow columns. No row is ever a Python object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

# Between the members of a list on its way from the database; an empty list is an empty text, and before each member
# stands one of these, so that a list of one empty text is told from it.
SEPARATOR = "\x1f"

# Columns of few different values are read as such: what is done to a cell is then done once for all that are alike.
_ALIKE = pa.dictionary(pa.int32(), pa.string())

# How a kind of cell comes out of COPY, and what it is on its way into Parquet, where a `word` is a text like others: it
# is one that many rows share.
READ = {
    "text": pa.string(),
    "word": _ALIKE,
    "json": pa.string(),
    "int": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "moment": pa.timestamp("us"),
    "texts": _ALIKE,
    "ints": _ALIKE,
}
WRITTEN = {
    **READ,
    "moment": pa.timestamp("us", tz="UTC"),
    "texts": pa.list_(pa.string()),
    "ints": pa.list_(pa.int64()),
}


@dataclass(frozen=True)
class Column:
    """`kind` is one of READ. `means` is the sentence that stands in the card."""

    name: str
    kind: str
    means: str


def schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([(column.name, WRITTEN[column.kind]) for column in columns])


def table(read: Mapping[str, pa.Array], columns: Sequence[Column]) -> pa.Table:
    """The columns as they were read, made into what Parquet holds."""
    arrays = [_written(read[column.name], column.kind) for column in columns]
    return pa.Table.from_arrays(arrays, schema=schema(columns))


def with_null(values: pa.DictionaryArray) -> pa.DictionaryArray:
    """What is missing as a value like the others; where nothing is, nothing changes."""
    if not values.null_count:
        return values
    dictionary = pa.concat_arrays([values.dictionary, pa.nulls(1, values.dictionary.type)])
    indices = pc.fill_null(values.indices, pa.scalar(len(values.dictionary), pa.int32()))
    return pa.DictionaryArray.from_arrays(indices, dictionary)


def _written(values: pa.Array, kind: str) -> pa.Array:
    if kind == "moment":
        return values.view(WRITTEN[kind])  # the same microseconds; no time zone is looked up
    if kind in ("texts", "ints"):
        alike = with_null(values)
        # What stands before the first separator is nothing.
        members = pc.list_slice(pc.split_pattern(pc.fill_null(alike.dictionary, ""), SEPARATOR), 1)
        return pc.cast(members, WRITTEN[kind]).take(alike.indices)
    return values
