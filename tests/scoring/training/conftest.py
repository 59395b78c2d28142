from __future__ import annotations

from collections.abc import Iterator

import pytest

from scoring.backbones.encoders import encoder_registry


@pytest.fixture(scope="module")
def _tiny_built_in() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(
            encoder_registry.BUILT_IN_ANSWER_ENCODERS,
            "built-in",
            "tests.scoring.training.answers:TinyAnswers",
        )
        yield
