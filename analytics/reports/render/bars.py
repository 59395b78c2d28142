"""Bar charts: stacked shares per set, and counts per value for one set or two (histograms)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from analytics.reports.render.drawing import short_name, svg_frame

# Stacked: a bar of full width per set, cut into values from low to high.

STACKED_WIDTH = 720
_LEFT, _RIGHT = 200, 64
_ROW, _BAR, _LEGEND = 28, 20, 24
_LONGEST_NAME, _LETTER = 26, 8
# A share is written where it fits; the title of each piece has it anyway.
_ROOM_FOR_SHARE = 34
# From light to dark, so that the order of the values reads in black and white too.
_LIGHTEST, _DARKEST = 0.12, 1.0
# From these strengths on what is written turns to the colour of the ground: by night, and by day.
_MIDDLE, _DARK = 0.45, 0.8


def stacked_bars(title: str, values: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]) -> str:
    """An SVG text. A row is a set's name and how often it has each of `values`; a set without answers stays empty."""
    legend, top = _stacked_legend(values)
    drawn = [*legend]
    for place, (name, counts) in enumerate(rows):
        drawn += _bar(name, values, counts, y=top + place * _ROW)
    return svg_frame("stacked-bars", title, drawn, width=STACKED_WIDTH, height=top + _ROW * len(rows) + 4)


def _stacked_legend(values: Sequence[str]) -> tuple[list[str], int]:
    """And where the bars begin below it."""
    parts, x, y = [], _LEFT, 4
    for number, value in enumerate(values):
        width = 26 + _LETTER * len(value) + 10
        if x + width > STACKED_WIDTH and x > _LEFT:
            x, y = _LEFT, y + _LEGEND
        strength = _strength(number, len(values))
        parts.append(
            f'<rect class="piece" fill-opacity="{strength:g}" x="{x}" y="{y}" width="18" height="14"/>'
        )
        parts.append(f'<text x="{x + 24}" y="{y + 12}">{escape(value)}</text>')
        x += width
    return parts, y + _LEGEND + 6


def _bar(name: str, values: Sequence[str], counts: Sequence[int], *, y: int) -> Iterator[str]:
    total, middle = sum(counts), y + _BAR / 2 + 4
    yield f'<text x="0" y="{middle:g}">{escape(short_name(name, _LONGEST_NAME))}</text>'
    yield f'<text class="soft" x="{STACKED_WIDTH}" y="{middle:g}" text-anchor="end">n = {total:,}</text>'
    before = 0
    for number, (value, n) in enumerate(zip(values, counts, strict=True)):
        if n:
            strength = _strength(number, len(values))
            yield from _piece(f"{value}: {n:,}", before / total, n / total, y=y, strength=strength)
        before += n


def _piece(title: str, start: float, share: float, *, y: int, strength: float) -> Iterator[str]:
    long = STACKED_WIDTH - _LEFT - _RIGHT
    x, width = _LEFT + long * start, long * share
    at = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"'
    yield f'<rect class="piece" fill-opacity="{strength:g}" {at}><title>{escape(title)}</title></rect>'
    if width >= _ROOM_FOR_SHARE:
        shade = "on-light" if strength < _MIDDLE else "on-middle" if strength < _DARK else "on-dark"
        place = f'x="{x + width / 2:.1f}" y="{y + _BAR / 2 + 4:g}" text-anchor="middle"'
        yield f'<text class="{shade}" {place}>{100 * share:.0f} %</text>'


def _strength(number: int, values: int) -> float:
    return round(_LIGHTEST + (_DARKEST - _LIGHTEST) * number / max(values - 1, 1), 2)


# Upright: how often each value was given, a bar per set beside each other.

BARS_WIDTH = 420
_BOTTOM, _GAP = 28, 0.22
_ROOM_FOR_LETTER = 8
_LONGEST_BESIDE = 22


@dataclass(frozen=True)
class _UprightBars:
    """classes: of the sets. room_for_counts: how wide a value's place is for counts to stand on its bars; their titles
    have them anyway. place: attributes of a bar, in an order that files of reports keep."""

    height: int
    top: int
    classes: tuple[str, ...]
    room_for_counts: int
    place: str


_PAIRED = _UprightBars(250, 48, ("first", "second"), 60, 'x="{x}" y="{y}" width="{width}" height="{height}"')
_SINGLE = _UprightBars(220, 22, ("fill",), 40, 'x="{x}" width="{width}" y="{y}" height="{height}"')


def paired_bars(title: str, names: tuple[str, str], rows: Sequence[tuple[str, int, int]]) -> str:
    """An SVG text. `names` are of the two sets; a row is a value's label and how often each set has it."""
    drawn = [*_paired_legend(names), *_upright_bars(rows, _PAIRED)]
    return svg_frame("paired-bars", title, drawn, width=BARS_WIDTH, height=_PAIRED.height)


def value_bars(title: str, rows: Sequence[tuple[str, int]]) -> str:
    """An SVG text. A row is a value's label and how often it was given."""
    return svg_frame(
        "value-bars", title, _upright_bars(rows, _SINGLE), width=BARS_WIDTH, height=_SINGLE.height
    )


def _paired_legend(names: tuple[str, str]) -> Iterator[str]:
    """Side by side, or one below the other where the first would run into the second."""
    places = ((0, 4), (0, 22)) if len(names[0]) > _LONGEST_BESIDE else ((0, 4), (BARS_WIDTH // 2, 4))
    for (x, y), name, colour in zip(places, names, _PAIRED.classes, strict=True):
        yield f'<rect class="{colour}" x="{x}" y="{y}" width="12" height="12"/>'
        yield f'<text x="{x + 18}" y="{y + 11}">{escape(name)}</text>'


def _upright_bars(
    rows: Sequence[tuple[str, int] | tuple[str, int, int]], layout: _UprightBars
) -> Iterator[str]:
    floor, slot = layout.height - _BOTTOM, BARS_WIDTH / max(len(rows), 1)
    highest = max((n for _, *counts in rows for n in counts), default=0) or 1
    width = slot * (1 - _GAP) / len(layout.classes)
    every = _label_step([label for label, *_ in rows], slot)
    for place, (label, *counts) in enumerate(rows):
        start = (place + _GAP / 2) * slot
        for number, (n, colour) in enumerate(zip(counts, layout.classes, strict=True)):
            x, height = start + number * width, (floor - layout.top) * n / highest
            at = layout.place.format(
                x=f"{x:.1f}", y=f"{floor - height:.1f}", width=f"{width:.1f}", height=f"{height:.1f}"
            )
            yield f'<rect class="{colour}" {at}><title>{escape(label)}: {n:,}</title></rect>'
            if slot >= layout.room_for_counts:
                middle, above = x + width / 2, floor - height - 5
                yield f'<text class="soft" x="{middle:.1f}" y="{above:.1f}" text-anchor="middle">{n:,}</text>'
        if place % every == 0:
            middle = (place + 0.5) * slot
            yield f'<text x="{middle:.1f}" y="{layout.height - 8}" text-anchor="middle">{escape(label)}</text>'
    yield f'<line class="axis" x1="0" x2="{BARS_WIDTH}" y1="{floor}" y2="{floor}"/>'


def _label_step(labels: Sequence[str], slot: float) -> int:
    """Every how many-th label there is room for."""
    longest = max(map(len, labels), default=0) * _ROOM_FOR_LETTER
    return max(1, -int(-longest // slot))
