"""What CMI-RM minimises (CMI-RewardBench, §3.3.2 and Appendix C.1). Heads are columns, in the order of HEADS.

Every vote weighs the same, and so does every rating: a pair with three votes adds three times its mean loss.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits


def preference_losses(leads: Tensor, shares: Tensor, *, smoothing: float = 0.0) -> Tensor:
    """Bradley and Terry's cross-entropy (equation 5) of each pair and head, (n, heads).

    leads: the first sound's score less the second's, their log-odds that the first is preferred. shares: of the votes,
    those for the first; ties are none. `smoothing` makes 0.9 and 0.1 of 1 and 0 where it is 0.2.
    """
    return binary_cross_entropy_with_logits(leads, (1 - smoothing) * shares + smoothing / 2, reduction="none")


class RatingScale(nn.Module):
    """From unbounded scores to ratings from 1 to 5 and their squared error (equation 6). Both numbers are learned, and
    dropped when the model is used."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.tensor(0.2))
        self.b = nn.Parameter(torch.tensor(0.0))

    def forward(self, scores: Tensor) -> Tensor:
        return 2 * torch.tanh(self.a * scores + self.b) + 3

    def losses(self, scores: Tensor, ratings: Tensor) -> Tensor:
        """Of each clip and head, (n, heads)."""
        found: Tensor = self(scores) - ratings
        return found.square()


def total(losses: Tensor, weights: Tensor) -> Tensor:
    """Half of each head's weighted mean (equation 4). losses, weights: (n, heads), of pairs and clips together; what
    nobody was asked about weighs nothing, and a head that nobody was asked about at all adds nothing."""
    sums, weight = (losses * weights).sum(dim=0), weights.sum(dim=0)
    return (sums / weight.clamp(min=1e-9)).mean()
