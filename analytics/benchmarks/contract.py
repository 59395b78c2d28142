"""What a published benchmark asks of a metric, whatever its files looked like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

Kept = TypeVar("Kept")


class BenchmarkError(Exception):
    """The folder does not hold what it should. The message names what is missing or wrong and where to get it."""


@dataclass(frozen=True)
class Unit:
    """A sound beside a text: what a metric scores, once, however many pairs it is part of."""

    sound: Path
    text: str


@dataclass(frozen=True)
class Rating:
    """What people gave a unit: a mean rating, or 1 and 0 for preferred and rejected. `unit` is an index.

    cluster: what it shares with others that are not independent of it (the prompt, the sound).
    """

    unit: int
    human: float
    part: str
    cluster: str


@dataclass(frozen=True)
class Choice:
    """Two units of which people prefer the first (human > 0) or the second (< 0), or cannot say (0).

    Either two sounds beside one text, or two texts beside one sound. It counts in each of its `parts`.
    """

    first: int
    second: int
    human: float
    parts: tuple[str, ...]
    cluster: str


@dataclass(frozen=True)
class Square:
    """As many texts as sounds; text i describes sound i. `units[i][j]` is sound i beside text j."""

    units: tuple[tuple[int, ...], ...]
    part: str


@dataclass(frozen=True)
class Benchmark:
    """An opened benchmark. `left_out` names the sounds that are not in the folder, where that was allowed; `limit` is
    how many of each part are kept, where that is not all."""

    name: str
    title: str
    units: tuple[Unit, ...]
    ratings: tuple[Rating, ...] = ()
    choices: tuple[Choice, ...] = ()
    squares: tuple[Square, ...] = ()
    left_out: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        names = [one.part for one in self.ratings] + [one.part for one in self.squares]
        names += [part for choice in self.choices for part in choice.parts]
        return tuple(dict.fromkeys(names))


@dataclass
class Units:
    """Collects units without repeating any."""

    found: dict[Unit, int] = field(default_factory=dict)

    def number(self, sound: Path, text: str) -> int:
        return self.found.setdefault(Unit(sound, text), len(self.found))

    def all(self) -> tuple[Unit, ...]:
        return tuple(self.found)


def limited(benchmark: Benchmark, n: int) -> Benchmark:
    """The first n ratings, choices or squares of each part, and the units they need: for trying things out."""
    ratings = _first(benchmark.ratings, [one.part for one in benchmark.ratings], n)
    choices = _first(benchmark.choices, [one.parts[0] for one in benchmark.choices], n)
    squares = _first(benchmark.squares, [one.part for one in benchmark.squares], n)
    used = [one.unit for one in ratings] + [side for one in choices for side in (one.first, one.second)]
    used += [unit for one in squares for row in one.units for unit in row]
    new = {old: number for number, old in enumerate(dict.fromkeys(used))}
    return replace(
        benchmark,
        limit=n,
        units=tuple(benchmark.units[old] for old in new),
        ratings=tuple(replace(one, unit=new[one.unit]) for one in ratings),
        choices=tuple(replace(one, first=new[one.first], second=new[one.second]) for one in choices),
        squares=tuple(
            replace(one, units=tuple(tuple(new[unit] for unit in row) for row in one.units))
            for one in squares
        ),
    )


def _first(things: Iterable[Kept], parts: Iterable[str], n: int) -> list[Kept]:
    taken: dict[str, int] = {}
    kept = []
    for thing, part in zip(things, parts, strict=True):
        taken[part] = taken.get(part, 0) + 1
        if taken[part] <= n:
            kept.append(thing)
    return kept
