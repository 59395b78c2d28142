from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annotation.demo.write import Truth, write_demo

PROMPTS, QUESTIONS = 4, 6


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    """A small demo study: four prompts with eight comparisons, six questions with 24 answers."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, write_demo(folder, seed=1, prompts=PROMPTS, questions=QUESTIONS)
