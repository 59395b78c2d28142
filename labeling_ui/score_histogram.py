"""Scores drawn as histograms, lengths in per cent so that the drawing stretches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analytics.reports.scoring_run import Distribution

HEIGHT = 96


@dataclass(frozen=True)
class Column:
    """`x` and `width` are in per cent of the drawing, `y` and `height` in its own units."""

    x: float
    width: float
    y: float
    height: float
    n: int
    low: float
    high: float


@dataclass(frozen=True)
class Histogram:
    distribution: Distribution
    columns: tuple[Column, ...]
    mean_at: float


def histograms(found: Sequence[Distribution], *, first: Sequence[str] = ()) -> list[Histogram]:
    """One for each output: those named `first` in that order, the others by name."""
    places = {output: place for place, output in enumerate(first)}
    ordered = sorted(found, key=lambda one: (places.get(one.output, len(places)), one.output))
    return [_histogram(one) for one in ordered]


def _histogram(one: Distribution) -> Histogram:
    step, tallest = 100 / len(one.bins), max(one.bins)
    span = one.high - one.low
    columns = tuple(
        Column(
            x=index * step,
            width=step,
            y=round(HEIGHT - _height(n, tallest), 2),
            height=_height(n, tallest),
            n=n,
            low=one.low + span * index / len(one.bins),
            high=one.low + span * (index + 1) / len(one.bins),
        )
        for index, n in enumerate(one.bins)
        if n
    )
    return Histogram(one, columns, round(100 * (one.mean - one.low) / span, 2))


def _height(n: int, tallest: int) -> float:
    """A bin with anything in it can be seen."""
    return round(max(2.0, HEIGHT * n / tallest), 2)
