"""A home folder and an environment as a fresh shell would have them, whatever server the tests run on."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture
def home() -> Iterator[Path]:
    """Not in pytest's own folder, which is closed to the account that the database runs under for root."""
    with tempfile.TemporaryDirectory(prefix="a home ", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Without the variables that name the tests' own database, home and settings."""
    ours = ("CONCORD_", "DATABASE_URL", "DJANGO_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
        "CONCORD_HOME": str(home)
    }


@pytest.fixture
def eventually() -> Eventually:
    """Wait for something to become true; how long it may take says nothing about the product."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < deadline, "this did not become true within a minute"
            time.sleep(0.1)  # some conditions look through every process of the machine

    return wait
