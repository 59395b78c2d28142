"""How much of a Beta distribution lies nearest to each of five ratings, so that its gradient can be taken.

The mass of an interval is a difference of two regularised incomplete beta functions, which torch does not have. It is
integrated here by the double exponential rule (Takahasi and Mori 1974), which integrates powers at the ends of an
interval exactly enough, however steep, and in logarithms: all terms are positive, so nothing cancels however small a
mass is, and the derivative of the sum is the derivative of the integral.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import torch

# The nodes, at t = -8.5 … 8.5, are exact to 3e-9 for alpha and beta within exp(-6) … exp(6). Beyond, a Beta is narrower
# than five ratings can tell (its standard deviation under a seventh of a half cell), or all at the two ends.
LOG_BOUND = 6.0
_REACH, _STEP = 8.5, 1 / 16
_EDGES = (0.0, 0.125, 0.375, 0.625, 0.875, 1.0)


def log_masses(log_alpha: torch.Tensor, log_beta: torch.Tensor) -> torch.Tensor:
    """Shape (answers, 5), from two of shape (answers,): the logarithm of the mass of Beta(alpha, beta) in each of
    [0, 1/8], [1/8, 3/8], [3/8, 5/8], [5/8, 7/8] and [7/8, 1], within LOG_BOUND. Computed in float64, and given in the
    type of the arguments."""
    alpha, beta = log_alpha.double().exp(), log_beta.double().exp()
    log_x, log_rest, log_weight = (part.to(alpha.device) for part in _nodes())
    terms = (
        (alpha - 1)[:, None, None] * log_x + (beta - 1)[:, None, None] * log_rest + log_weight
    ).logsumexp(dim=-1)
    normaliser = torch.lgamma(alpha) + torch.lgamma(beta) - torch.lgamma(alpha + beta)
    return (terms - normaliser[:, None]).to(log_alpha.dtype)


@cache
def _nodes() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """log x, log(1 - x) and the logarithm of the weight, each of shape (5, nodes).

    x = low + width * s, s = 1 / (1 + exp(-pi sinh t)); everything is kept as a logarithm, since s goes far below the
    least double.
    """
    t = torch.arange(-_REACH, _REACH + _STEP / 2, _STEP, dtype=torch.float64)
    u = torch.pi * t.sinh()
    log_s, log_r = -torch.nn.functional.softplus(-u), -torch.nn.functional.softplus(u)
    log_slope = torch.log(torch.pi * t.cosh()) + log_s + log_r
    log_x, log_rest, log_weight = [], [], []
    for low, high in pairwise(_EDGES):
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
