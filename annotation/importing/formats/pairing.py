"""Pairing: which comparisons the clips of several systems make, prompt by prompt. Pure and deterministic.

Tables of one clip per row and folders of one folder per system are paired alike: all pairs of systems, all pairs with a
baseline, or a balanced sample of N pairs per prompt, in which each pair and each system appears as equally often as the
clips allow.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Pair = tuple[str, str]
ALL, BASELINE, SAMPLE = "all", "baseline", "sample"
MAX_SAMPLE = 10_000
DEFAULT_SEED = 1
# Exchanges are tried while they are cheap: a table of thousands of prompts is even enough without them.
MAX_EXCHANGE_TRIALS = 2_000_000
MAX_EXCHANGE_ROUNDS = 20


class PairingError(ValueError):
    """How to pair cannot be understood, or cannot be done; the message is a sentence with the remedy."""


@dataclass(frozen=True)
class Pairing:
    """`all`, `baseline:NAME`, or `sample:N` with an optional seed, `sample:N:SEED`."""

    kind: str = ALL
    baseline: str = ""
    n: int = 0
    seed: int = DEFAULT_SEED

    def __str__(self) -> str:
        if self.kind == BASELINE:
            return f"{BASELINE}:{self.baseline}"
        if self.kind == SAMPLE:
            seed = "" if self.seed == DEFAULT_SEED else f":{self.seed}"
            return f"{SAMPLE}:{self.n}{seed}"
        return ALL


ALL_PAIRS = Pairing()


def parse_pairing(text: str) -> Pairing:
    """Raises PairingError for what is none of the three."""
    kind, _, rest = text.strip().partition(":")
    if kind in ("", ALL) and not rest:
        return ALL_PAIRS
    if kind == BASELINE and rest.strip():
        return Pairing(BASELINE, baseline=rest.strip())
    if kind == SAMPLE:
        numbers = rest.split(":")
        if len(numbers) <= 2 and all(number.isdecimal() and len(number) < 10 for number in numbers):
            n, seed = int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else DEFAULT_SEED
            if 1 <= n <= MAX_SAMPLE:
                return Pairing(SAMPLE, n=n, seed=seed)
    raise PairingError(
        f"{text!r} is no way to pair clips. Use all, baseline:NAME, or sample:N with N pairs per prompt."
    )


def choose_pairs(groups: Sequence[Sequence[str]], pairing: Pairing) -> Iterator[list[Pair]]:
    """The pairs of systems of each group, which is a prompt's systems. Each pair is in alphabetical order.

    A group without the baseline, or with one system alone, has none. Raises PairingError where no group has the
    baseline.
    """
    if pairing.kind == SAMPLE:
        yield from _sampled(groups, pairing)
        return
    if pairing.kind == BASELINE and groups and not any(pairing.baseline in group for group in groups):
        systems = sorted({system for group in groups for system in group})
        known = ", ".join(systems[:20])
        raise PairingError(f"No clip is of the baseline {pairing.baseline!r}. The systems are {known}.")
    for group in groups:
        pairs = list(combinations(sorted(set(group)), 2))
        yield [pair for pair in pairs if pairing.kind == ALL or pairing.baseline in pair]


def _sampled(groups: Sequence[Sequence[str]], pairing: Pairing) -> Iterator[list[Pair]]:
    """Where every prompt has every system, runs of one cyclic order of all pairs, of which each part is balanced. Else
    the pairs that were chosen least often so far, and exchanges that make the counts more even."""
    rng = random.Random(pairing.seed)
    systems = sorted({system for group in groups for system in group})
    rng.shuffle(systems)  # which systems meet first is no matter of their names
    order = balanced_order(systems)
    if all(len(set(group)) == len(systems) for group in groups):
        places = list(range(len(groups)))
        rng.shuffle(places)  # prompts may stand in a rhythm: every third of one genre, say
        n = min(pairing.n, len(order))
        for place in places:
            yield sorted(order[(place * n + step) % len(order)] for step in range(n))
        return
    yield from _exchanged(_greedy(groups, order, pairing.n, rng), groups)


def balanced_order(systems: Sequence[str]) -> list[Pair]:
    """Every pair of systems once. At any place of this order each system has come up as often as any other, or once
    more: rounds of a tournament for an even number of systems, Hamiltonian cycles (Walecki's) for an odd one."""
    rounds = _cycles(len(systems)) if len(systems) % 2 else _tournament(len(systems))
    return [
        (min(systems[first], systems[second]), max(systems[first], systems[second]))
        for first, second in rounds
    ]


def _tournament(n: int) -> Iterator[tuple[int, int]]:
    """The circle method: in every round each of an even number plays once."""
    for turn in range(n - 1):
        ring = [n - 1, *((turn + place) % (n - 1) for place in range(n - 1))]
        yield ring[0], ring[n // 2]
        yield from ((ring[place], ring[-place]) for place in range(1, n // 2))


def _cycles(n: int) -> Iterator[tuple[int, int]]:
    half = (n - 1) // 2
    for turn in range(half):
        zigzag = [turn]
        for step in range(1, half + 1):
            zigzag += [(turn + step) % (n - 1), (turn - step) % (n - 1)]
        cycle = [n - 1, *zigzag[: n - 1]]
        edges = [(cycle[place], cycle[(place + 1) % n]) for place in range(n)]
        # A matching of all but the last vertex, the edge that closes the cycle, then the other matching.
        yield from [*edges[0 : n - 2 : 2], edges[n - 1], *edges[1 : n - 1 : 2]]


def _greedy(
    groups: Sequence[Sequence[str]], order: Sequence[Pair], n: int, rng: random.Random
) -> list[list[Pair]]:
    rank = {pair: place for place, pair in enumerate(order)}
    pairs_chosen, systems_chosen = Counter[Pair](), Counter[str]()
    chosen: list[list[Pair]] = [[] for _ in groups]
    turns = list(range(len(groups)))
    rng.shuffle(turns)
    turns.sort(key=lambda turn: len(set(groups[turn])))  # whoever has little choice chooses first
    for turn in turns:
        possible = set(combinations(sorted(set(groups[turn])), 2))
        for _ in range(min(n, len(possible))):
            pair = min(
                possible,
                key=lambda pair: (
                    pairs_chosen[pair],
                    systems_chosen[pair[0]] + systems_chosen[pair[1]],
                    rank[pair],
                ),
            )
            possible.remove(pair)
            chosen[turn].append(pair)
            pairs_chosen[pair] += 1
            systems_chosen.update(pair)
    return chosen


def _exchanged(chosen: list[list[Pair]], groups: Sequence[Sequence[str]]) -> list[list[Pair]]:
    """Exchange a prompt's pair for another of its pairs while that evens out the counts."""
    pairs = Counter(pair for several in chosen for pair in several)
    systems = Counter(system for pair in pairs.elements() for system in pair)
    trials = 0
    for _ in range(MAX_EXCHANGE_ROUNDS):
        changed = False
        for several, group in zip(chosen, groups, strict=True):
            unused = [pair for pair in combinations(sorted(set(group)), 2) if pair not in several]
            trials += len(several) * len(unused)
            if trials > MAX_EXCHANGE_TRIALS:
                return [sorted(several) for several in chosen]
            for place, old in enumerate(several):
                if not unused:
                    break
                costs = {new: _cost_of_exchange(old, new, pairs, systems) for new in unused}
                new = min(unused, key=costs.__getitem__)
                if costs[new] >= (0, 0):
                    continue
                several[place], changed = new, True
                unused[unused.index(new)] = old
                pairs.update({old: -1, new: 1})
                systems.subtract(old)
                systems.update(new)
        if not changed:
            break
    return [sorted(several) for several in chosen]


def _cost_of_exchange(
    old: Pair, new: Pair, pairs: Mapping[Pair, int], systems: Mapping[str, int]
) -> tuple[int, int]:
    """By how much the sums of squares grow: of the counts of pairs, then of those of systems."""
    of_pairs = 2 * (pairs[new] - pairs[old] + 1)
    moved = {system: (system in new) - (system in old) for system in {*old, *new}}
    return of_pairs, sum(2 * systems[system] * step + step * step for system, step in moved.items())


def counts_of(chosen: Collection[Sequence[Pair]]) -> tuple[Counter[Pair], Counter[str]]:
    """How often each pair and each system was chosen."""
    pairs = Counter(pair for several in chosen for pair in several)
    systems = Counter(system for pair in pairs.elements() for system in pair)
    return pairs, systems
