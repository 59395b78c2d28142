from __future__ import annotations

from collections.abc import Iterator

import pytest

from scoring.runs import loaded_metric
from tests.scoring import doubles


@pytest.fixture(autouse=True)
def _word_count(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scorer of these tests, which no process has loaded."""
    loaded_metric.unload()
    doubles.register(monkeypatch)
    yield
    loaded_metric.unload()
