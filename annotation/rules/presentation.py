"""In which order are a task's candidates shown? Drawn on the server, balanced within a task."""

from __future__ import annotations

import random
from collections.abc import Sequence


def draw(n_candidates: int, *, balance: int, n_draws: int, seed: int) -> list[int]:
    """The canonical slots in the order shown.

    A pair is shown in the order it was shown less often (`balance` = times as listed − times swapped, over live
    leases and judgments), by a seeded coin when even: so the two orders of a task differ by at most one once it is
    full. More candidates rotate through the rows of a Latin square that `seed` shuffles: over any n draws each
    candidate stands at each position once.
    """
    if n_candidates == 1:
        return [0]
    if n_candidates == 2:
        as_listed = balance < 0 or (balance == 0 and random.Random(f"{seed}:{n_draws}").random() < 0.5)
        return [0, 1] if as_listed else [1, 0]
    base = list(range(n_candidates))
    random.Random(seed).shuffle(base)
    turn = n_draws % n_candidates
    return base[turn:] + base[:turn]


def balance_step(presentation: Sequence[int]) -> int:
    """What showing this order adds to a task's balance: +1 as listed, −1 swapped, 0 where there is no pair."""
    if len(presentation) != 2:
        return 0
    return 1 if presentation[0] == 0 else -1
