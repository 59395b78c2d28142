"""The distributions of ratings: likelihoods, gradients, means and variances against scipy and numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from scipy import special, stats

from scoring.metrics.orca.heads import EPSILON, LOG_BOUND, RatingHead, log_masses

RATINGS = [(1, 1, 2), (5,), (3, 4, 5, 1), (2, 3)]
RAW = [(0.3, -0.4), (-1.7, 2.2), (2.5, 1.1), (-0.6, -0.9)]
_EDGES = np.array([0.0, 0.125, 0.375, 0.625, 0.875, 1.0])


def head(kind: str, edges: str = "clamp") -> RatingHead:
    torch.manual_seed(1)
    return RatingHead(6, kind=kind, edges=edges)


def loss(of: RatingHead, raw: torch.Tensor, ratings: Sequence[Sequence[float]]) -> torch.Tensor:
    return of.negative_log_likelihood(raw, of.targets(ratings))


def clamped_by_scipy(raw: np.ndarray, ratings: Sequence[float]) -> float:
    y = np.clip((np.array(ratings) - 1) / 4, EPSILON, 1 - EPSILON)
    return float(-stats.beta.logpdf(y, *np.exp(raw)).sum())


def cells_by_scipy(raw: np.ndarray, ratings: Sequence[float]) -> float:
    masses = np.diff(stats.beta.cdf(_EDGES, *np.exp(raw)))
    masses[4] = stats.beta.sf(0.875, *np.exp(raw))  # the difference would cancel
    return float(-sum(np.log(masses[int(rating) - 1]) for rating in ratings))


BY_SCIPY = {"clamp": clamped_by_scipy, "cells": cells_by_scipy}


@pytest.mark.parametrize("edges", ["clamp", "cells"])
def test_the_likelihood_of_a_beta_and_its_gradient_are_scipy_s(edges: str) -> None:
    raw = torch.tensor(RAW, dtype=torch.float64, requires_grad=True)
    found = loss(head("beta", edges), raw, RATINGS)
    found.sum().backward()
    reference = BY_SCIPY[edges]
    for row, ratings in enumerate(RATINGS):
        at = np.array(RAW[row])
        assert found[row].item() == pytest.approx(reference(at, ratings), rel=1e-6)
        for side in (0, 1):
            step = np.zeros(2)
            step[side] = 1e-5
            slope = (reference(at + step, ratings) - reference(at - step, ratings)) / 2e-5
            assert raw.grad is not None
            assert raw.grad[row, side].item() == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_the_mass_near_each_rating_is_exact_for_wide_and_narrow_betas() -> None:
    values = np.linspace(-LOG_BOUND, LOG_BOUND, 13)
    log_alpha, log_beta = (grid.ravel() for grid in np.meshgrid(values, values))
    found = log_masses(torch.tensor(log_alpha), torch.tensor(log_beta)).exp().numpy()
    alpha, beta = np.exp(log_alpha), np.exp(log_beta)
    expected = np.diff(special.betainc(alpha[:, None], beta[:, None], _EDGES), axis=1)
    expected[:, 4] = special.betainc(beta, alpha, 0.125)
    assert found == pytest.approx(expected, abs=1e-8)
    assert found.sum(axis=1) == pytest.approx(np.ones(169), abs=1e-8)


def test_equal_ratings_have_a_bounded_likelihood_by_cells_and_none_by_clamping() -> None:
    narrow = torch.tensor([[2.0, 5.9], [0.9, 5.5]])
    cells, clamped = head("beta", "cells"), head("beta", "clamp")
    assert (loss(cells, narrow, [(1, 1, 1)] * 2) > -1e-6).all()
    assert (loss(clamped, narrow, [(1, 1, 1)] * 2) < -3).any()


def test_mean_and_variance_of_a_beta_are_scipy_s() -> None:
    predicted = head("beta").predict_ratings(torch.tensor(RAW, dtype=torch.float64))
    mean, variance = stats.beta.stats(*np.exp(np.array(RAW)).T, moments="mv")
    assert predicted.mean.numpy() == pytest.approx(mean, rel=1e-12)
    assert predicted.variance.numpy() == pytest.approx(variance, rel=1e-12)
    assert predicted.distributions[0] == pytest.approx({"alpha": np.exp(0.3), "beta": np.exp(-0.4)})


def test_five_probabilities_have_numpy_s_likelihood_mean_and_variance() -> None:
    logits = np.random.default_rng(3).normal(size=(len(RATINGS), 5)) * 2
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = np.arange(5) / 4
    mean = (chances * y).sum(axis=1)
    predicted = head("multinomial").predict_ratings(torch.tensor(logits))
    assert predicted.mean.numpy() == pytest.approx(mean)
    assert predicted.variance.numpy() == pytest.approx((chances * y**2).sum(axis=1) - mean**2)
    assert list(predicted.distributions[2].values()) == pytest.approx(list(chances[2]))
    assert list(predicted.distributions[2]) == ["1", "2", "3", "4", "5"]
    expected = [
        -sum(np.log(row[rating - 1]) for rating in ratings)
        for row, ratings in zip(chances, RATINGS, strict=True)
    ]
    assert loss(head("multinomial"), torch.tensor(logits), RATINGS).numpy() == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["beta", "multinomial"])
def test_an_untrained_head_knows_nothing(kind: str) -> None:
    torch.manual_seed(4)
    of = RatingHead(512, kind=kind)
    predicted = of.predict_ratings(of(torch.randn(64, 512)))
    assert predicted.mean.numpy() == pytest.approx(np.full(64, 0.5), abs=0.1)
    # Uniform over [0, 1]: 1/12; over five values: 1/8.
    flat = 1 / 12 if kind == "beta" else 1 / 8
    assert predicted.variance.numpy() == pytest.approx(np.full(64, flat), abs=0.02)


def test_what_runs_away_in_a_training_stays_a_number() -> None:
    of = head("beta")
    torch.nn.init.constant_(of.linear.weight, 1e4)
    raw = of(torch.ones(2, 6))
    found = loss(of, raw, [(1,), (5, 5)])
    found.sum().backward()
    predicted = of.predict_ratings(raw)
    assert torch.isfinite(found).all()
    assert torch.isfinite(predicted.variance).all()


def test_a_rating_between_two_levels_is_refused_by_none_but_those_that_count_levels() -> None:
    assert [
        head(*way).needs_whole_ratings for way in (("beta", "clamp"), ("beta", "cells"), ("multinomial",))
    ] == [
        False,
        True,
        True,
    ]
    raw = np.array([0.2, 0.4])
    between = loss(head("beta"), torch.tensor(raw)[None], [(3.5, 2.25)])
    assert between.item() == pytest.approx(clamped_by_scipy(raw, (3.5, 2.25)), rel=1e-6)
