"""Submissions for the presets, complete unless a test changes them."""

from __future__ import annotations

import uuid
from typing import Any

from annotation.rating.judgments import Submission


def rating(value: float, **fields: Any) -> Submission:
    """An `orca` rating."""
    answers = [{"question": "correctness", "value": value}]
    return Submission(**{"client_id": uuid.uuid4(), "answers": answers, **fields})


def comparison(alignment: str = "A", musicality: str = "B", **fields: Any) -> Submission:
    """A `cmi-pref` comparison."""
    answers = [
        {"question": "alignment", "choice": alignment, "confidence": 4},
        {"question": "musicality", "choice": musicality, "confidence": 3},
        {"question": "evidence", "text": "A keeps the tempo; B drifts at 0:03."},
    ]
    return Submission(**{"client_id": uuid.uuid4(), "answers": answers, **fields})
