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


def against_even(k: int, n: int) -> float | None:
    """The exact two-sided test of one half: the chance of a count at least as far from n / 2; None where n is 0.

    For large n by the incomplete beta function, whose error is far below what anybody would print.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a share")
    if n == 0:
        return None
    from scipy.special import bdtrc  # takes a moment to load: only with a report

    further = max(k, n - k)
    # The two tails are mirror images; at the middle itself they meet.
    return 1.0 if 2 * further == n else min(1.0, 2 * float(bdtrc(further - 1, n, 0.5)))
