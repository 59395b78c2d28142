from __future__ import annotations

import pytest
import torch

from tests.annotation.conftest import api, elsewhere, world

__all__ = ["api", "elsewhere", "world"]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Threads cost tiny models more than they give, the more so beside the other workers of the test run."""
    torch.set_num_threads(1)
