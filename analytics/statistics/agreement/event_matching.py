"""Agreement of time-stamped events: how many of two raters' marks lie within a tolerance of each other.

An event of one rater matches at most one of the other, of the same label, whose start is no further away than the
tolerance; as many as possible are matched. F1 = 2 · matches / (events of one + events of the other), pooled over pairs
of raters who marked the same clip. This is how onsets are compared in music information retrieval (MIREX).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

# The starts of one rater's marks on one clip, in seconds, by label.
Marks = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class MatchedEvents:
    """f1: None without marks, or without a clip of two raters. pairs: of raters on one clip.

    both_empty: pairs of which neither marked anything; they agree, but F1 does not see it.
    """

    f1: float | None
    pairs: int
    both_empty: int


def n_matches(one: Sequence[float], other: Sequence[float], *, tolerance: float) -> int:
    """The largest number of pairs (a, b) within the tolerance, each used once. In the order of time, a pair that can be
    matched never stands in the way of two others."""
    a, b = sorted(one), sorted(other)
    matches = i = j = 0
    while i < len(a) and j < len(b):
        # A little more than the tolerance: two tenths of a second apart are 0.20000000000000018.
        if abs(a[i] - b[j]) <= tolerance + 1e-9:
            matches, i, j = matches + 1, i + 1, j + 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return matches


def matched_events(
    clips: Sequence[Sequence[Marks]], *, tolerance: float, label: str | None = None
) -> MatchedEvents:
    """`clips`: of each clip, the marks of each rater. `label`: of these events only."""
    matched = total = pairs = both_empty = 0
    for raters in clips:
        for one, other in combinations(raters, 2):
            labels = {label} if label is not None else {*one, *other}
            n = sum(len(one.get(name, ())) + len(other.get(name, ())) for name in labels)
            pairs, both_empty = pairs + 1, both_empty + (n == 0)
            total += n
            matched += sum(
                n_matches(one.get(name, ()), other.get(name, ()), tolerance=tolerance) for name in labels
            )
    return MatchedEvents(2 * matched / total if total else None, pairs, both_empty)


def mean_event_distance(raters: Sequence[Marks], *, tolerance: float) -> float | None:
    """1 - F1, averaged over the pairs of raters of one clip, from 0 to 1; None below two raters. Two who marked nothing
    agree."""
    pairs = [matched_events([pair], tolerance=tolerance).f1 for pair in combinations(raters, 2)]
    return sum(0.0 if f1 is None else 1 - f1 for f1 in pairs) / len(pairs) if pairs else None
