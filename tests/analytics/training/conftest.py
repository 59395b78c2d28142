from __future__ import annotations

import pytest

from tests.analytics import learning
from tests.analytics.learning import Toy


@pytest.fixture
def toy(monkeypatch, settings, tmp_path) -> Toy:
    """Trainings keep their files in a folder of the test, and have no model behind them."""
    settings.SCORING_CHECKPOINTS = tmp_path / "checkpoints"
    return learning.register(monkeypatch)
