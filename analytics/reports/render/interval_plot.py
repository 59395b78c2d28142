"""Points with their intervals on lines of one scale, one block below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 720
_LEFT, _RIGHT = 250, 70
_ROW, _HEADING, _AXIS = 26, 34, 30
_LONGEST_NAME = 38

# For a file on its own: the house's colours by day and by night. A page brings its own rules for these classes.
_STYLE = """<style>
.interval-plot{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:#fff}
.interval-plot text{fill:#1d1f1e}
.interval-plot .soft{fill:#5a5d59;font-size:12px}
.interval-plot .heading{font-weight:600}
.interval-plot .axis,.interval-plot .tick{stroke:#dcdad3}
.interval-plot .range{stroke:#0b6e66;stroke-opacity:.3;stroke-width:10}
.interval-plot .point{fill:#0b6e66;stroke:#fff;stroke-width:2}
@media (prefers-color-scheme:dark){.interval-plot{background:#1c1f1e}.interval-plot text{fill:#eceeec}
.interval-plot .soft{fill:#a9b0ad}.interval-plot .axis,.interval-plot .tick{stroke:#353a38}
.interval-plot .range{stroke:#5cc8bb}.interval-plot .point{fill:#5cc8bb;stroke:#1c1f1e}}
</style>"""


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


def interval_plot(title: str, blocks: Sequence[Block], *, on_its_own: bool = True) -> str:
    """An SVG text. Blocks share one scale, from a round number below the lowest value to one above the highest.

    `on_its_own` brings colours along, for a file; on a page the classes `interval-plot`, `heading`, `soft`, `axis`,
    `tick`, `range` and `point` are coloured by its style sheet.
    """
    start, end = _ends([point for block in blocks for point in block.points])
    height = _AXIS + sum(_HEADING + _ROW * len(block.points) for block in blocks) + 8
    drawn = "\n".join(_drawn(blocks, start, end, height))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="interval-plot" role="img" aria-label="{escape(title)}" '
        f'viewBox="-4 0 {WIDTH + 8} {height}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_STYLE if on_its_own else ''}\n{drawn}\n</svg>\n"
    )


def _drawn(blocks: Sequence[Block], start: float, end: float, height: int) -> Iterator[str]:
    for tick in _ticks(start, end):
        x = _x(tick, start, end)
        yield f'<line class="tick" x1="{x}" x2="{x}" y1="{_AXIS - 6}" y2="{height - 8}"/>'
        yield f'<text class="soft" x="{x}" y="{_AXIS - 12}" text-anchor="middle">{_number(tick)}</text>'
    y = _AXIS
    for block in blocks:
        y += _HEADING
        yield f'<text class="heading" x="0" y="{y - 10}">{escape(block.heading)}</text>'
        for point in block.points:
            yield from _line(point, y + _ROW / 2, start, end)
            y += _ROW


def _line(point: Point, y: float, start: float, end: float) -> Iterator[str]:
    name = point.name if len(point.name) <= _LONGEST_NAME else f"{point.name[: _LONGEST_NAME - 1]}…"
    yield f'<text x="0" y="{y + 4:g}">{escape(name)}</text>'
    yield f'<line class="axis" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:g}" y2="{y:g}"/>'
    if point.low is not None and point.high is not None:
        ends = f'x1="{_x(point.low, start, end)}" x2="{_x(point.high, start, end)}"'
        yield f'<line class="range" {ends} y1="{y:g}" y2="{y:g}"/>'
    if point.value is not None:
        yield f'<circle class="point" cx="{_x(point.value, start, end)}" cy="{y:g}" r="5"/>'
    yield f'<text x="{WIDTH}" y="{y + 4:g}" text-anchor="end">{escape(point.shown)}</text>'


def _ends(points: Sequence[Point]) -> tuple[float, float]:
    """To the next tenth outwards; 0 to 1 where there is nothing to show."""
    values = [v for point in points for v in (point.value, point.low, point.high) if v is not None]
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    step = _step(high - low)
    return step * (low // step), step * -(-high // step) if high > step * (low // step) else low + step


def _ticks(start: float, end: float) -> Iterator[float]:
    step = _step(end - start)
    for n in range(round((end - start) / step) + 1):
        yield start + n * step


def _step(width: float) -> float:
    return next((step for step in (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if width / step <= 8), 10.0)


def _x(value: float, start: float, end: float) -> float:
    return round(_LEFT + (value - start) / (end - start) * (WIDTH - _RIGHT - _LEFT), 1)


def _number(value: float) -> str:
    return f"{round(value, 4) + 0.0:g}".replace("-", "−")
