"""Interval plot (forest plot): points with their confidence intervals on one scale, in blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from analytics.reports.render.drawing import short_name, svg_frame
from analytics.reports.render.line_plot import Axis

WIDTH = 720
_LEFT, _RIGHT = 250, 70
_ROW, _HEADING, _AXIS = 26, 34, 30
_LONGEST_NAME = 38


@dataclass(frozen=True)
class Point:
    """A value with its interval; `shown` is how it is written. Without a value the line stays empty."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    shown: str


@dataclass(frozen=True)
class Block:
    heading: str
    points: Sequence[Point]


def interval_plot(title: str, blocks: Sequence[Block]) -> str:
    """An SVG text. Blocks share one scale, from a round number below the lowest value to one above the highest."""
    axis = _axis([point for block in blocks for point in block.points])
    height = _AXIS + sum(_HEADING + _ROW * len(block.points) for block in blocks) + 8
    drawn = _drawn(blocks, axis, height)
    return svg_frame("interval-plot", title, drawn, width=WIDTH + 8, height=height, left=-4)


def _drawn(blocks: Sequence[Block], axis: Axis, height: int) -> Iterator[str]:
    for tick in axis.ticks:
        x, label = _x(tick, axis), f"{round(tick, 4) + 0.0:g}".replace("-", "−")
        yield f'<line class="tick" x1="{x}" x2="{x}" y1="{_AXIS - 6}" y2="{height - 8}"/>'
        yield f'<text class="soft" x="{x}" y="{_AXIS - 12}" text-anchor="middle">{label}</text>'
    y = _AXIS
    for block in blocks:
        y += _HEADING
        yield f'<text class="heading" x="0" y="{y - 10}">{escape(block.heading)}</text>'
        for point in block.points:
            yield from _line(point, y + _ROW / 2, axis)
            y += _ROW


def _line(point: Point, y: float, axis: Axis) -> Iterator[str]:
    yield f'<text x="0" y="{y + 4:g}">{escape(short_name(point.name, _LONGEST_NAME))}</text>'
    yield f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:g}" y2="{y:g}"/>'
    if point.low is not None and point.high is not None:
        ends = f'x1="{_x(point.low, axis)}" x2="{_x(point.high, axis)}"'
        yield f'<line class="range" {ends} y1="{y:g}" y2="{y:g}"/>'
    if point.value is not None:
        yield f'<circle class="point" cx="{_x(point.value, axis)}" cy="{y:g}" r="5"/>'
    yield f'<text x="{WIDTH}" y="{y + 4:g}" text-anchor="end">{escape(point.shown)}</text>'


def _axis(points: Sequence[Point]) -> Axis:
    """To the next tenth outwards; 0 to 1 where there is nothing to show."""
    values = [v for point in points for v in (point.value, point.low, point.high) if v is not None]
    start, end = 0.0, 1.0
    if values:
        low, high = min(values), max(values)
        step = _step(high - low)
        start = step * (low // step)
        end = step * -(-high // step) if high > start else low + step
    step = _step(end - start)
    return Axis(start, end, tuple(start + n * step for n in range(round((end - start) / step) + 1)))


def _step(width: float) -> float:
    return next((step for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if width / step <= 8), 10.0)


def _x(value: float, axis: Axis) -> float:
    return round(_LEFT + axis.share(value) * (WIDTH - _RIGHT - _LEFT), 1)
