"""ORCA rating heads: from an answer's vector to a Beta or multinomial rating distribution (ORCA §4.1).

Ratings from 1 to 5 are normalised to y = (r - 1) / 4. There are two distributions: Beta (the paper) and the five
ratings' own probabilities (what the released checkpoints have). Beta has no finite density at y = 0 and y = 1, where
most ratings are; the paper does not say what becomes of those. There are two treatments to choose from:

- `clamp`: y is moved into [0.01, 0.99] first, as the published code does. The likelihood then has no upper bound:
  where all ratings of an answer are equal, an ever narrower Beta is ever more likely.
- `cells`: a rating says that correctness lies nearer to it than to any other, so y stands for the interval
  [y - 1/8, y + 1/8] within [0, 1], and its likelihood is the Beta's mass there (a difference of two regularised
  incomplete beta functions). It needs no epsilon, and the five sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import torch

# ── Beta masses of the five ratings, differentiable ──
# The mass of an interval is a difference of two regularised incomplete beta functions, which torch does not have. It
# is integrated here by the double exponential rule (Takahasi and Mori 1974), which integrates powers at the ends of
# an interval exactly enough, however steep, and in logarithms: all terms are positive, so nothing cancels however
# small a mass is, and the derivative of the sum is the derivative of the integral.

# The nodes, at t = -8.5 … 8.5, are exact to 3e-9 for alpha and beta within exp(-6) … exp(6). Beyond, a Beta is narrower
# than five ratings can tell (its standard deviation under a seventh of a half cell), or all at the two ends.
LOG_BOUND = 6.0
_REACH, _STEP = 8.5, 1 / 16
_CELL_EDGES = (0.0, 0.125, 0.375, 0.625, 0.875, 1.0)


def log_masses(log_alpha: torch.Tensor, log_beta: torch.Tensor) -> torch.Tensor:
    """Shape (answers, 5), from two of shape (answers,): the logarithm of the mass of Beta(alpha, beta) in each of
    [0, 1/8], [1/8, 3/8], [3/8, 5/8], [5/8, 7/8] and [7/8, 1], within LOG_BOUND. Computed in float64, and given in the
    type of the arguments."""
    alpha, beta = log_alpha.double().exp(), log_beta.double().exp()
    log_x, log_rest, log_weight = (part.to(alpha.device) for part in _quadrature_nodes())
    terms = (
        (alpha - 1)[:, None, None] * log_x + (beta - 1)[:, None, None] * log_rest + log_weight
    ).logsumexp(dim=-1)
    normaliser = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)
    return (terms - normaliser[:, None]).to(log_alpha.dtype)


@cache
def _quadrature_nodes() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """log x, log(1 - x) and the logarithm of the weight, each of shape (5, nodes).

    x = low + width * s, s = 1 / (1 + exp(-pi sinh t)); everything is kept as a logarithm, since s goes far below the
    least double.
    """
    t = torch.arange(-_REACH, _REACH + _STEP / 2, _STEP, dtype=torch.float64)
    u = torch.pi * t.sinh()
    log_s, log_r = -torch.nn.functional.softplus(-u), -torch.nn.functional.softplus(u)
    log_slope = torch.log(torch.pi * t.cosh()) + log_s + log_r
    log_x, log_rest, log_weight = [], [], []
    for low, high in pairwise(_CELL_EDGES):
        width = torch.tensor(high - low, dtype=torch.float64)
        log_x.append(_log_sum(low, width, log_s))
        log_rest.append(_log_sum(1 - high, width, log_r))
        log_weight.append(log_slope + (width * _STEP).log())
    return torch.stack(log_x), torch.stack(log_rest), torch.stack(log_weight)


def _log_sum(start: float, width: torch.Tensor, log_part: torch.Tensor) -> torch.Tensor:
    """log(start + width * part)."""
    if start == 0:
        return width.log() + log_part
    return torch.log(start + width * log_part.exp())


LEVELS = 5
EPSILON = 0.01
HEADS = ("beta", "multinomial")

# exp(15) is a Beta of a standard deviation under 0.0003: nothing that ratings could teach lies beyond, and the
# exponentials of what runs away in a training would be no numbers.
_BOUNDS = {"clamp": 15.0, "cells": LOG_BOUND}


@dataclass(frozen=True)
class RatingPrediction:
    """The ratings to expect of some answers, normalised, float64 on the CPU: mean and variance of shape (answers,),
    and of each the whole distribution: alpha and beta, or the probabilities of "1" to "5"."""

    mean: torch.Tensor
    variance: torch.Tensor
    distributions: Sequence[Mapping[str, float]]


class RatingHead(torch.nn.Module):
    """`kind` is one of HEADS; `edges`, clamp or cells, is of consequence for Beta only."""

    def __init__(self, width: int, *, kind: str, edges: str = "clamp") -> None:
        super().__init__()
        self.kind, self.edges = kind, edges
        self.linear = torch.nn.Linear(width, 2 if kind == "beta" else LEVELS)
        # As published: begins near Beta(1, 1), or near five equal probabilities.
        torch.nn.init.xavier_normal_(self.linear.weight, gain=0.01)
        torch.nn.init.zeros_(self.linear.bias)

    def forward(self, vectors: torch.Tensor) -> torch.Tensor:
        """Shape (answers, 2), log alpha and log beta; or (answers, 5), logits. Float32 whatever the vectors are."""
        with torch.autocast(vectors.device.type, enabled=False):
            raw: torch.Tensor = self.linear(vectors.float())
        bound = _BOUNDS[self.edges]
        return raw.clamp(-bound, bound) if self.kind == "beta" else raw

    @property
    def needs_whole_ratings(self) -> bool:
        """Whether a rating must be one of the five, as 3.5 is not."""
        return self.kind == "multinomial" or self.edges == "cells"

    def targets(self, ratings: Sequence[Sequence[float]]) -> torch.Tensor:
        """All that the likelihood needs of each answer's ratings, float32, one row per answer: how many there are of
        each of the five; or, of Beta's clamped y, the sums of log y, of log(1 - y) and of 1."""
        if self.needs_whole_ratings:
            rows = [
                [sum(rating == level + 1 for rating in of_answer) for level in range(LEVELS)]
                for of_answer in ratings
            ]
            return torch.tensor(rows, dtype=torch.float32).reshape(-1, LEVELS)
        return torch.stack([_log_sums(of_answer) for of_answer in ratings]).float()

    def negative_log_likelihood(self, raw: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The negative log-likelihood of all ratings of each answer together, shape (answers,)."""
        if self.kind == "multinomial":
            return -(targets * raw.log_softmax(dim=-1)).sum(dim=-1)
        if self.edges == "cells":
            return -(targets * log_masses(raw[:, 0], raw[:, 1])).sum(dim=-1)
        # In float64: of a narrow Beta the three logarithms are large and their sum is not.
        alpha, beta = raw.double().exp().unbind(dim=-1)
        log_y, log_rest, number = targets.unbind(dim=-1)
        normaliser = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)
        return (number * normaliser - (alpha - 1) * log_y - (beta - 1) * log_rest).to(raw.dtype)

    def predict_ratings(self, raw: torch.Tensor) -> RatingPrediction:
        outputs = raw.detach().double().cpu()
        return _beta_prediction(outputs) if self.kind == "beta" else _multinomial_prediction(outputs)


def _log_sums(ratings: Sequence[float]) -> torch.Tensor:
    y = ((torch.tensor(ratings, dtype=torch.float64) - 1) / (LEVELS - 1)).clamp(EPSILON, 1 - EPSILON)
    return torch.stack([y.log().sum(), (1 - y).log().sum(), torch.tensor(float(len(y)), dtype=torch.float64)])


def _beta_prediction(outputs: torch.Tensor) -> RatingPrediction:
    alpha, beta = outputs.exp().unbind(dim=-1)
    total = alpha + beta
    variance = alpha * beta / (total.square() * (total + 1))
    pairs: list[Any] = torch.stack([alpha, beta], dim=-1).tolist()
    return RatingPrediction(alpha / total, variance, [{"alpha": a, "beta": b} for a, b in pairs])


def _multinomial_prediction(outputs: torch.Tensor) -> RatingPrediction:
    chances = outputs.softmax(dim=-1)
    y = torch.linspace(0, 1, LEVELS, dtype=torch.float64)
    mean = chances @ y
    variance = (chances * (y - mean[:, None]).square()).sum(dim=-1)
    rows: list[Any] = chances.tolist()
    named = [{str(level + 1): chance for level, chance in enumerate(row)} for row in rows]
    return RatingPrediction(mean, variance, named)
