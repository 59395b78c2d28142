from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.annotation.importers import sounds


@pytest.fixture
def orca_file(tmp_path: Path):
    """Write entries in the ORCA layout; each is complete unless the test changes it."""

    def write(entries: dict[str, dict], name: str = "train.json") -> Path:
        complete = {
            "ratings": [4, 5],
            "feedback": [None, None],
            "question": "How many bells ring?",
            "reference": "Two",
            "rationale": "Two bells ring.",
            "transcription": "",
            "candidate": "Two bells.",
        }
        path = tmp_path / name
        path.write_text(json.dumps({key: {**complete, **entry} for key, entry in entries.items()}))
        return path

    return write


@pytest.fixture
def cmi_file(tmp_path: Path):
    """Write CMI-Pref rows beside two clips; each is complete unless the test changes it."""
    sounds.tone(tmp_path / "a.wav", hertz=440)
    sounds.tone(tmp_path / "b.wav", hertz=660)

    def write(*rows: dict) -> Path:
        complete = {
            "prompt id": "p1",
            "prompt": "A calm piano piece",
            "lyrics": None,
            "ref-audio-path": None,
            "audio-path": "a.wav",
            "audio2": "b.wav",
            "model_a": "alpha",
            "model_b": "beta",
            "preference-alignment": "model_a",
            "confidence_preference-alignment": 4.5,
            "preference-musicality": "model_b",
            "confidence_preference-musicality": 2.0,
            "feedback": "A is calmer.",
            "user id": "u1",
        }
        path = tmp_path / "votes.jsonl"
        path.write_text("\n".join(json.dumps({**complete, **row}) for row in rows))
        return path

    return write
