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
    totals: Counter[float] = Counter()
    for row, units in rows:
        for value, count in row.items():
            totals[value] += count * units
    if question.is_preference:
        return [(_CHOICES[value], totals[value]) for value in question.categories]
    values = question.points or sorted(totals)
    if question.points or len(values) <= _BINS:
        return [(f"{value:g}", totals[value]) for value in values]
    return _binned(totals)


def _binned(totals: Counter[float]) -> list[Bar]:
    counts, edges = np.histogram(list(totals), bins=_BINS, weights=list(totals.values()))
    return [
        (f"{low:g} – {high:g}", int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
