from __future__ import annotations

from tests.annotation.conftest import api, elsewhere, world

__all__ = ["api", "elsewhere", "world"]
