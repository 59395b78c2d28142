"""The records of an export, as its files of JSON Lines have them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from analytics.datasets import records
from annotation.models import Study


def exported(study: Study, table: str, *, texts: str = "both") -> list[dict[str, Any]]:
    lines = written(study, f"{table}.jsonl", texts=texts).split("\n")
    return [json.loads(line) for line in lines[:-1]]


def written(study: Study, name: str, *, texts: str = "both") -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        records.write_records(study, path.stem, path, texts=texts, on_records=lambda n: None)
        return path.read_bytes().decode()
