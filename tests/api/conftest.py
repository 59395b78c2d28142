"""The client against a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from annotation.access import tokens
from annotation.jobs import jobs
from annotation.models import User
from concord_client import Concord

Connect = Callable[..., Concord]


@pytest.fixture
def connect(live_server, settings, tmp_path: Path, monkeypatch) -> Iterator[Connect]:
    """`connect(user, scope, …)` is that account's client. Nobody does the work of jobs unless a test does."""
    settings.HOME = tmp_path / "home"
    monkeypatch.setattr(jobs, "_send_message", lambda job_id, kind: None)
    made: list[Concord] = []

    def connected(user: User, *scopes: str) -> Concord:
        _token, secret = tokens.create_token(user, name="test", scopes=["read", *scopes], days=1)
        made.append(Concord(live_server.url, secret))
        return made[-1]

    yield connected
    for concord in made:
        concord.close()


@pytest.fixture
def worker(connect: Connect, monkeypatch) -> None:
    """Jobs are done as soon as they are asked for."""
    monkeypatch.setattr(jobs, "_send_message", lambda job_id, kind: jobs.run(job_id) and None)
