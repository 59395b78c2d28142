"""Talking to the API as somebody, and a study with something in every corner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import User
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
