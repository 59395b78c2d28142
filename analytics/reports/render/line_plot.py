"""Line plot: lines with confidence bands over one pair of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from analytics.reports.render.drawing import svg_frame

_MOST_STEPS = 6
_SPACE = "\N{NARROW NO-BREAK SPACE}"


@dataclass(frozen=True)
class Axis:
    start: float
    end: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """How far along it a value lies, 0 to 1; what lies beyond an end is drawn at the end."""
        return min(1.0, max(0.0, (value - self.start) / (self.end - self.start)))


def axis_ticks(values: Sequence[float], ends: tuple[float, float] | None) -> Axis:
    """From `ends`, or from a round number below the values to one above; 0 to 1 without values."""
    start, end = ends or (min(values, default=0.0), max(values, default=1.0))
    if start > end or (ends and start == end):
        raise ValueError(f"An axis goes upwards; got {start} to {end}.")
    if start == end:
        start, end = start - (abs(start) or 1) / 2, end + (abs(end) or 1) / 2
    step = _step(end - start)
    if ends is None:
        start, end = step * math.floor(start / step + 1e-9), step * math.ceil(end / step - 1e-9)
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    return Axis(start, end, tuple(n * step for n in range(first, last + 1)))


def tick_label(value: float) -> str:
    """With a real minus, and thousands apart from 10 000 on."""
    small = abs(value) < 10_000
    text = f"{float(f'{value:.10g}') + 0.0:g}" if small else f"{value:,.0f}".replace(",", _SPACE)
    return text.replace("-", "−")


def _step(width: float) -> float:
    """1, 2 or 5 times a power of ten: the smallest that divides the width into few steps."""
    power = 10.0 ** math.floor(math.log10(width / _MOST_STEPS))
    return next(power * times for times in (1, 2, 5, 10, 20) if width / (power * times) <= _MOST_STEPS)


WIDTH = 460
_LEFT, _RIGHT, _PLOT, _FOOT = 56, 26, 220, 50
_ROW, _SWATCH, _LETTER, _WIDE_LETTER = 22, 30, 8, 15
_COLOURS = 6
# A line of many points carries a mark at some of them only: enough to tell it from the others without colour.
_MARKS = 12

# x, y and the ends of the band there, if it has any.
LinePoint = tuple[float, float, float | None, float | None]
Place = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """Points in the order of x. A dashed line is something to compare with: chance, the ideal, a target."""

    name: str
    points: Sequence[LinePoint]
    dashed: bool = False


def line_plot(
    title: str,
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> str:
    """An SVG text. Without a range an axis reaches from a round number below what is drawn to one above.

    Raises ValueError for what is not a finite number.
    """
    _require_finite(lines)
    points = [point for line in lines for point in line.points]
    x_axis = axis_ticks([x for x, *_ in points], x_range)
    y_axis = axis_ticks([value for _, *there in points for value in there if value is not None], y_range)
    legend, top = _legend(lines)
    top += _ROW + 10

    def place(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + x_axis.share(x) * (WIDTH - _LEFT - _RIGHT)
        return round(across, 1), round(top + (1 - y_axis.share(y)) * _PLOT, 1)

    height = top + _PLOT + _FOOT
    drawn = [*legend, *_axes(x_axis, y_axis, place, (x_label, y_label))]
    drawn += [_line(number, line, place) for number, line in enumerate(lines)]
    return svg_frame("line-plot", title, drawn, width=WIDTH, height=height)


def _require_finite(lines: Sequence[Line]) -> None:
    for line in lines:
        for point in line.points:
            if strange := [n for n in point if n is not None and not math.isfinite(n)]:
                raise ValueError(f"{line.name!r} cannot be drawn through {strange[0]}.")


def _axes(x_axis: Axis, y_axis: Axis, place: Place, labels: tuple[str, str]) -> Iterator[str]:
    left, floor = place(x_axis.start, y_axis.start)
    right, ceiling = place(x_axis.end, y_axis.end)
    for tick in y_axis.ticks:
        _, y = place(x_axis.start, tick)
        yield f'<line class="tick" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text class="soft" x="{left - 8}" y="{y + 4:g}" text-anchor="end">{tick_label(tick)}</text>'
    for tick in x_axis.ticks:
        x, _ = place(tick, y_axis.start)
        yield f'<line class="axis" x1="{x}" x2="{x}" y1="{floor}" y2="{floor + 5}"/>'
        yield f'<text class="soft" x="{x}" y="{floor + 20:g}" text-anchor="middle">{tick_label(tick)}</text>'
    yield f'<line class="axis" x1="{left}" x2="{right}" y1="{floor}" y2="{floor}"/>'
    x_label, y_label = labels
    yield f'<text class="soft" x="{right}" y="{floor + 42:g}" text-anchor="end">{escape(x_label)}</text>'
    yield f'<text class="soft" x="0" y="{ceiling - 12:g}">{escape(y_label)}</text>'


def _line(number: int, line: Line, place: Place) -> str:
    parts = [f"<title>{escape(line.name)}</title>", *_bands(line.points, place)]
    places = [place(x, y) for x, y, *_ in line.points]
    if len(places) > 1:
        parts.append(f'<polyline class="{_stroke(line)}" points="{_joined(places)}"/>')
    if not line.dashed or len(places) == 1:
        parts += [_mark(number, *spot) for spot in places[:: -(-len(places) // _MARKS) or 1]]
    return f'<g class="{_colour(number)}">{"".join(parts)}</g>'


def _bands(points: Sequence[LinePoint], place: Place) -> Iterator[str]:
    """One area for each run of points that have both ends."""
    for banded, run in groupby(points, key=lambda point: point[2] is not None and point[3] is not None):
        if banded:
            ends = [(x, low, high) for x, _, low, high in run if low is not None and high is not None]
            around = [place(x, high) for x, _, high in ends] + [place(x, low) for x, low, _ in reversed(ends)]
            yield f'<polygon class="band" points="{_joined(around)}"/>'


def _legend(lines: Sequence[Line]) -> tuple[list[str], int]:
    """What each line is called, as many side by side as fit; and how high that is."""
    parts: list[str] = []
    x, y = 0, 0
    for number, line in enumerate(lines):
        width = _SWATCH + 16 + sum(_WIDE_LETTER if ord(letter) > 0x2E7F else _LETTER for letter in line.name)
        if x and x + width > WIDTH:
            x, y = 0, y + _ROW
        middle = y + 12
        mark = "" if line.dashed else _mark(number, x + 12, middle)
        stroke = f'<line class="{_stroke(line)}" x1="{x}" x2="{x + 24}" y1="{middle}" y2="{middle}"/>'
        parts.append(f'<g class="{_colour(number)}">{stroke}{mark}</g>')
        parts.append(f'<text x="{x + _SWATCH}" y="{middle + 5}">{escape(line.name)}</text>')
        x += width
    return parts, y + _ROW if lines else 0


def _mark(number: int, x: float, y: float) -> str:
    """A circle, a square, a triangle or a diamond: lines differ in more than colour."""
    shapes = (
        f'<circle class="mark" cx="{x}" cy="{y}" r="4"/>',
        f'<rect class="mark" x="{x - 3.5:g}" y="{y - 3.5:g}" width="7" height="7"/>',
        f'<polygon class="mark" points="{_joined([(x, y - 5), (x - 4.5, y + 4), (x + 4.5, y + 4)])}"/>',
        f'<polygon class="mark" points="{_joined([(x, y - 5), (x - 5, y), (x, y + 5), (x + 5, y)])}"/>',
    )
    return shapes[number % len(shapes)]


def _colour(number: int) -> str:
    return f"colour-{number % _COLOURS + 1}"


def _stroke(line: Line) -> str:
    return "line dashed" if line.dashed else "line"


def _joined(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)
