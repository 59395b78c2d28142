"""Parquet files as Hugging Face datasets write them, made with pyarrow alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

AUDIO = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(
    path: Path, columns: dict[str, Any], *, features: dict[str, Any] | None = None, row_group_size: int = 2
) -> Path:
    """`features` are Hugging Face's names for the columns' types."""
    table = pa.table(columns)
    if features:
        stated = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({b"huggingface": stated.encode()})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=row_group_size)
    return path


def sounds(*contents: bytes | None) -> pa.Array:
    """A column of packed sounds; None is a row without one."""
    rows = [
        None if content is None else {"bytes": content, "path": f"{place}.wav"}
        for place, content in enumerate(contents)
    ]
    return pa.array(rows, AUDIO)
