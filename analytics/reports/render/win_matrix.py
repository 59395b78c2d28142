"""Win matrix: how often each system is preferred to each other, row against column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from analytics.reports.render.drawing import short_name, svg_frame

WIDTH = 720
_LABELS, _HEAD = 210, 30
_LARGEST, _LONGEST_NAME = 74, 26
# Below this a cell has no room for its number of votes.
_ROOM_FOR_VOTES = 40


@dataclass(frozen=True)
class MatrixCell:
    """`share`: how often the row's system is preferred, 0 to 1, in `n` votes."""

    share: float
    n: int


def win_matrix(title: str, systems: Sequence[str], cells: Mapping[tuple[int, int], MatrixCell]) -> str:
    """An SVG text. `cells` by row and column, indexes into `systems`; a pair without votes stays empty.

    Every share is printed, so that nothing rests on shades; columns carry the numbers of the rows.
    """
    size = min(_LARGEST, (WIDTH - _LABELS) / max(len(systems), 1))
    drawn = [*_names(systems, size)]
    for row in range(len(systems)):
        for column in range(len(systems)):
            drawn += _cell(row, column, cells.get((row, column)), size, systems)
    height = _HEAD + size * len(systems) + 2
    return svg_frame("win-matrix", title, drawn, width=WIDTH, height=height)


def _names(systems: Sequence[str], size: float) -> Iterator[str]:
    letters = min(13.0, size * 0.7)
    for number, name in enumerate(systems, start=1):
        middle = (number - 0.5) * size
        place = f'y="{_HEAD + middle + letters / 3:.1f}" font-size="{letters:g}"'
        short = escape(short_name(name, _LONGEST_NAME))
        yield f'<text x="0" {place}><tspan class="soft">{number}</tspan> {short}</text>'
        across = f'x="{_LABELS + middle:.1f}" y="{_HEAD - 8}" font-size="{letters:g}"'
        yield f'<text class="soft" {across} text-anchor="middle">{number}</text>'


def _cell(
    row: int, column: int, cell: MatrixCell | None, size: float, systems: Sequence[str]
) -> Iterator[str]:
    x, y = _LABELS + column * size, _HEAD + row * size
    box = f'x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}"'
    if row == column:
        yield f'<rect class="itself" {box}/>'
        return
    yield f'<rect class="frame" {box}/>'
    if cell is None:
        return
    # The further ahead, the darker; light enough at the end for the number to be read.
    shade = max(0.0, cell.share - 0.5) * 0.9
    about = f"{systems[row]} – {systems[column]}: {100 * cell.share:.1f} % (n = {cell.n:,})"
    yield (f'<rect class="ahead" {box} fill-opacity="{shade:.3f}"><title>{escape(about)}</title></rect>')
    letters, roomy = min(15.0, size * 0.46), size >= _ROOM_FOR_VOTES
    middle, line = x + size / 2, y + size / 2 + letters / 3 - (6 if roomy else 0)
    at = f'x="{middle:.1f}" y="{line:.1f}" font-size="{letters:.1f}"'
    yield f'<text {at} text-anchor="middle">{100 * cell.share:.0f}</text>'
    if roomy:
        yield (
            f'<text class="soft" x="{middle:.1f}" y="{line + 15:.1f}" font-size="11" text-anchor="middle">'
            f"n {cell.n:,}</text>"
        )
