"""Which of the published questions Stage 3 would look at, counted from the files by pandas alone."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

CODES = frozenset("QARUE")


def flagged(folder: Path) -> dict[str, set[str]]:
    """Question ids by rule: some rater gave a code; some answer's ratings have an unbiased variance above 1.

    A code stands in the release as one letter of either case; other remarks are free text.
    """
    rows = [
        (key.rsplit("_", 2)[0], key, rating, bool({said.strip().upper() for said in feedback or ()} & CODES))
        for path in sorted(folder.glob("*.json"))
        for key, entry in json.loads(path.read_text(encoding="utf-8")).items()
        for rating, feedback in zip(entry["ratings"], entry["feedback"], strict=True)
    ]
    given = pd.DataFrame(rows, columns=["question", "answer", "rating", "coded"])
    variance = given.groupby(["question", "answer"]).rating.var(ddof=1).round(9).reset_index()
    return {
        "codes": set(given.loc[given.coded, "question"]),
        "disagreement": set(variance.loc[variance.rating > 1, "question"]),
    }
