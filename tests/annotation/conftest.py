"""Talking to the API as somebody, and a study with something in every corner."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import User
from tests.annotation.importing.formats import sounds
from tests.annotation.kept_world import world_of
from tests.annotation.world import World, make_world


@pytest.fixture(autouse=True)
def _home(settings, tmp_path: Path) -> None:
    """Uploads go to the test's own folder."""
    settings.HOME = tmp_path


@dataclass
class Api:
    """One person's connection: JSON in, JSON out, paths relative to /api/v1/."""

    client: Client = field(default_factory=Client)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        path = path if path.startswith("/") else f"/api/v1/{path}"
        kwargs = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(path, **kwargs, headers=headers)

    def get(self, path: str, **headers: str) -> Any:
        return self.call("get", path, **headers)

    def post(self, path: str, body: Any = None) -> Any:
        return self.call("post", path, {} if body is None else body)

    def patch(self, path: str, body: Any) -> Any:
        return self.call("patch", path, body)

    def put(self, path: str, body: Any) -> Any:
        return self.call("put", path, body)

    def delete(self, path: str) -> Any:
        return self.call("delete", path)


@pytest.fixture
def api() -> Callable[[User | None], Api]:
    """`api(user)` speaks as this person, `api(None)` as nobody."""

    def as_user(user: User | None) -> Api:
        client = Client()
        if user is not None:
            client.force_login(user)
        return Api(client)

    return as_user


@pytest.fixture
def world(db: None) -> World:
    return world_of("here")


@pytest.fixture
def elsewhere(db: None) -> World:
    """Another study, with its own people."""
    return make_world("elsewhere")


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
