"""The exact binomial test against guessing, without a package and without rounding."""

from __future__ import annotations

import math


def by_guessing(correct: int, n: int) -> float | None:
    """The chance that somebody who guesses gets as many of `n` or more right: P(X >= correct), X ~ B(n, 1/2).

    One-sided, as an ABX test asks whether a difference is heard. Summed in whole numbers; None where n is 0.
    """
    if not 0 <= correct <= n:
        raise ValueError(f"{correct} of {n} cannot be right")
    if n == 0:
        return None
    ways = total = math.comb(n, correct)
    for k in range(correct, n):
        ways = ways * (n - k) // (k + 1)
        total += ways
    return total / (1 << n)
