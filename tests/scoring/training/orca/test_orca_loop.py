"""The order of batches, the learning rate, and which weights are the best."""

from __future__ import annotations

import numpy as np
import pytest

from scoring.backbones.encoders.causal_text import PUBLISHED_SETTINGS
from scoring.training.orca.loop import Settings, SpearmanProgress, learning_rate_share, shuffled_batches
from scoring.training.orca.recipe import settings_of
from tests.scoring.training.answers import options

SIZES = np.random.default_rng(2).integers(1, 500, size=530)


def test_an_epoch_has_each_answer_once_those_of_like_length_together() -> None:
    batches = shuffled_batches(SIZES, 8, seed=1, epoch=0)
    assert sorted(place for batch in batches for place in batch) == list(range(530))
    assert len(batches) == 50 + -(-130 // 8)
    spread = np.mean([np.ptp(SIZES[batch]) for batch in batches])
    assert spread < 0.1 * np.ptp(SIZES)


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    assert shuffled_batches(SIZES, 8, seed=1, epoch=3) == shuffled_batches(SIZES, 8, seed=1, epoch=3)
    orders = {str(shuffled_batches(SIZES, 8, seed=seed, epoch=epoch)) for seed in (1, 2) for epoch in (0, 1)}
    assert len(orders) == 4


def test_a_language_model_is_trained_as_published_where_nothing_else_is_asked_for() -> None:
    settings = settings_of(options(), PUBLISHED_SETTINGS)
    assert settings == Settings(
        learning_rate=5e-5, weight_decay=0.0, steps=4000, batch=8, warmup=100, validate_every=200, patience=5
    )
    assert settings_of(
        options(steps=7, weight_decay=0), {**PUBLISHED_SETTINGS, "weight_decay": 1.0}
    ) == Settings(5e-5, 0.0, 7, 8, 100, 200, 5)


def test_the_learning_rate_rises_over_the_warm_up_and_falls_to_a_hundredth() -> None:
    settings = settings_of(options(), PUBLISHED_SETTINGS)
    shares = [learning_rate_share(step, settings) for step in (0, 49, 99, 100, 2050, 4000)]
    assert shares == pytest.approx([0.01, 0.5, 1.0, 1.0, 0.505, 0.01])
    assert learning_rate_share(0, settings_of(options(warmup=0), PUBLISHED_SETTINGS)) == 1.0


def test_the_best_is_that_of_the_highest_spearman_then_of_the_likelier() -> None:
    at = SpearmanProgress(best_spearman=0.5, best_loss=1.0)
    assert at.is_better(0.6, 9.0)
    assert at.is_better(0.5, 0.9)
    assert not at.is_better(0.5, 1.0)
    assert not at.is_better(None, 0.1)
    assert SpearmanProgress().is_better(None, 5.0)
