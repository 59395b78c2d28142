"""Counterbalancing: the presentation order of a task's candidates, drawn on the server and balanced within a task."""

from __future__ import annotations

import random
from collections.abc import Sequence

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ABX = "ABX"


def candidate_labels(layout: str) -> str:
    """What the candidates are called in the order shown, a letter each."""
    return ABX if layout == "abx" else ALPHABET


def draw_order(n_candidates: int, *, layout: str, balance: int, n_draws: int, seed: int) -> list[int]:
    """The canonical slots in the order shown.

    A pair is shown in the order it was shown less often (`balance` = times as listed − times swapped, over live
    leases and judgments), by a seeded coin when even: so the two orders of a task differ by at most one once it is
    full. More candidates rotate through the rows of a Latin square that `seed` shuffles: over any n draws each
    candidate stands at each position once. An ABX test shows a third, which is one of the first two again.
    """
    if layout == "abx":
        return _draw_abx(n_draws=n_draws, seed=seed)
    if n_candidates == 1:
        return [0]
    if n_candidates == 2:
        as_listed = balance < 0 or (balance == 0 and random.Random(f"{seed}:{n_draws}").random() < 0.5)
        return [0, 1] if as_listed else [1, 0]
    base = list(range(n_candidates))
    random.Random(seed).shuffle(base)
    turn = n_draws % n_candidates
    return base[turn:] + base[:turn]


def swap_sides(presentation: Sequence[int], *, layout: str) -> list[int]:
    """The order the other way round; of an ABX test, whose X stays what it is, the first two."""
    if layout == "abx":
        return [presentation[1], presentation[0], *presentation[2:]]
    return list(reversed(presentation))


def order_balance_step(presentation: Sequence[int]) -> int:
    """What showing this order adds to a task's balance: +1 as listed, −1 swapped, 0 where there is no pair."""
    if len(presentation) != 2:
        return 0
    return 1 if presentation[0] == 0 else -1


def _draw_abx(*, n_draws: int, seed: int) -> list[int]:
    """A, B and X. Each block of four draws of a task has every order with either answer once, and already its first
    two draws differ in both; each block is shuffled anew, so that earlier answers do not tell the next one."""
    block, turn = divmod(n_draws, 4)
    coin = random.Random(f"{seed}:abx:{block}")
    swapped, x = coin.random() < 0.5, coin.random() < 0.5
    swapped ^= turn in (1, 3)
    x ^= turn in (1, 2)
    pair = [1, 0] if swapped else [0, 1]
    return [*pair, pair[x]]
