"""The published ORCA ratings (BUTSpeechFIT/ORCA, data/seed_108) as rated answers, grouped and stratified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scoring.training.contract import RatedAnswer
from scoring.training.leaks import words
from scoring.training.splits import components

PARTS = ("train", "dev", "test")


def rated_answers(folder: Path, *, mmau: Path | None = None) -> list[RatedAnswer]:
    """All parts together: the splits are made anew. Answers to one question, and to questions of the same words, are
    one group. Modality and category are those of MMAU where its questions are at hand; of MMAR, which the release says
    nothing of, its name and whether there is speech."""
    entries: dict[str, dict[str, Any]] = {}
    for part in PARTS:
        entries |= json.loads((folder / f"{part}.json").read_text(encoding="utf-8"))
    known = _questions(mmau)
    group = components({key: [_item(key), f"q:{words(entry['question'])}"] for key, entry in entries.items()})
    return [
        RatedAnswer(
            key=key,
            group=group[key],
            system="_".join(key.rsplit("_", 2)[1:]),
            candidate=entry["candidate"] or "",
            question=entry["question"] or "",
            reference=entry["reference"] or "",
            rationale=entry["rationale"] or "",
            transcript=entry["transcription"] or "",
            ratings=tuple(float(rating) for rating in entry["ratings"] if rating is not None),
            strata=known.get(_item(key)) or _unknown(entry),
        )
        for key, entry in entries.items()
    ]


def _item(key: str) -> str:
    return key.rsplit("_", 2)[0]


def _questions(mmau: Path | None) -> dict[str, dict[str, str]]:
    if mmau is None or not mmau.is_file():
        return {}
    rows = json.loads(mmau.read_text(encoding="utf-8"))
    return {row["id"]: {"modality": row["task"], "category": row["sub-category"]} for row in rows}


def _unknown(entry: dict[str, Any]) -> dict[str, str]:
    return {"modality": "MMAR", "category": "speech" if entry["transcription"] else "other"}
