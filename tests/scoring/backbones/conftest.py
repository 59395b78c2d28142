from __future__ import annotations

from collections.abc import Iterator

import pytest

from scoring.backbones.loading import pretrained


@pytest.fixture(scope="session", autouse=True)
def _bfloat16_is_tried_where_a_test_says_so() -> Iterator[None]:
    """Trying takes seconds, and these tests choose kernels that every processor has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pretrained, "_supports_bfloat16", lambda: True)
        yield
