"""How often each value was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from analytics.frames import CountRow
from analytics.questions import MeasuredQuestion
from annotation.models import Answer

# Above this many different values a free scale is shown in this many equal bins.
_BINS = 10
_CHOICES = {
    float(Answer.Choice.FIRST): "first",
    float(Answer.Choice.SECOND): "second",
    float(Answer.Choice.TIE): "tie",
    float(Answer.Choice.BOTH_BAD): "both_bad",
}

# What was given (a point, a range of a free scale, or a canonical choice) and how often.
Bar = tuple[str, int]


def histogram(question: MeasuredQuestion, rows: Sequence[CountRow]) -> list[Bar]:
    """All points of the scale, with or without answers; `first` and `second` name slots, not what was shown first."""
    return [(label, n) for label, (n,) in histograms(question, [rows])]


def histograms(
    question: MeasuredQuestion, sets: Sequence[Sequence[CountRow]]
) -> list[tuple[str, tuple[int, ...]]]:
    """The same bars of several sets of ratings, each with its counts in the order of the sets."""
    totals = [_totals(rows) for rows in sets]
    if question.is_preference:
        return [(_CHOICES[value], _each(totals, value)) for value in question.categories]
    values = question.points or sorted(set().union(*totals))
    if question.points or len(values) <= _BINS:
        return [(f"{value:g}", _each(totals, value)) for value in values]
    return _binned(totals)


def _totals(rows: Sequence[CountRow]) -> Counter[float]:
    totals: Counter[float] = Counter()
    for row, units in rows:
        for value, count in row.items():
            totals[value] += count * units
    return totals


def _each(totals: Sequence[Counter[float]], value: float) -> tuple[int, ...]:
    return tuple(total[value] for total in totals)


def _binned(totals: Sequence[Counter[float]]) -> list[tuple[str, tuple[int, ...]]]:
    edges = np.histogram_bin_edges(sorted(set().union(*totals)), bins=_BINS)
    counts = [np.histogram(list(total), bins=edges, weights=list(total.values()))[0] for total in totals]
    return [
        (f"{low:g} – {high:g}", tuple(int(n) for n in each))
        for low, high, each in zip(edges[:-1], edges[1:], zip(*counts, strict=True), strict=True)
    ]
