from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from scoring.backbones.encoders import encoder_registry


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> Iterator[None]:
    """Tiny models lose more by threads than they gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def _tiny_built_in() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(
            encoder_registry.BUILT_IN_ANSWER_ENCODERS,
            "built-in",
            "tests.scoring.training.answers:TinyAnswers",
        )
        yield
