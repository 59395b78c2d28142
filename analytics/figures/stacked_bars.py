"""What shares of a set's answers had which value: a bar of full width per set, cut into values from low to high."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

WIDTH = 720
_LEFT, _RIGHT = 200, 64
_ROW, _BAR, _LEGEND = 28, 20, 24
_LONGEST_NAME, _LETTER = 26, 8
# A share is written where it fits; the title of each piece has it anyway.
_ROOM_FOR_SHARE = 34
# From light to dark, so that the order of the values reads in black and white too.
_LIGHTEST, _DARKEST = 0.12, 1.0
# From these strengths on what is written turns to the colour of the ground: by night, and by day.
_MIDDLE, _DARK = 0.45, 0.8

# For a file on its own: the house's colours by day and by night. A page links css/figures.css.
_STYLE = """<style>
.stacked-bars{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:#fff}
.stacked-bars text{fill:#1d1f1e}
.stacked-bars .soft{fill:#5a5d59;font-size:12px}
.stacked-bars .on-dark{fill:#fff}
.stacked-bars .piece{fill:#0b6e66;stroke:#0b6e66;stroke-width:.5}
@media (prefers-color-scheme:dark){.stacked-bars{background:#1c1f1e}.stacked-bars text{fill:#eceeec}
.stacked-bars .soft{fill:#a9b0ad}.stacked-bars .on-middle,.stacked-bars .on-dark{fill:#1c1f1e}
.stacked-bars .piece{fill:#5cc8bb;stroke:#5cc8bb}}
</style>"""


def stacked_bars(
    title: str,
    values: Sequence[str],
    rows: Sequence[tuple[str, Sequence[int]]],
    *,
    on_its_own: bool = True,
) -> str:
    """An SVG text. A row is a set's name and how often it has each of `values`; a set without answers stays empty.

    `on_its_own` brings colours along, for a file; on a page css/figures.css colours the classes.
    """
    legend, top = _legend(values)
    drawn = [*legend]
    for place, (name, counts) in enumerate(rows):
        drawn += _bar(name, values, counts, y=top + place * _ROW)
    height = top + _ROW * len(rows) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="stacked-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {height}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_STYLE if on_its_own else ''}\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def _legend(values: Sequence[str]) -> tuple[list[str], int]:
    """And where the bars begin below it."""
    parts, x, y = [], _LEFT, 4
    for number, value in enumerate(values):
        width = 26 + _LETTER * len(value) + 10
        if x + width > WIDTH and x > _LEFT:
            x, y = _LEFT, y + _LEGEND
        strength = _strength(number, len(values))
        parts.append(
            f'<rect class="piece" fill-opacity="{strength:g}" x="{x}" y="{y}" width="18" height="14"/>'
        )
        parts.append(f'<text x="{x + 24}" y="{y + 12}">{escape(value)}</text>')
        x += width
    return parts, y + _LEGEND + 6


def _bar(name: str, values: Sequence[str], counts: Sequence[int], *, y: int) -> Iterator[str]:
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    total, middle = sum(counts), y + _BAR / 2 + 4
    yield f'<text x="0" y="{middle:g}">{escape(short)}</text>'
    yield f'<text class="soft" x="{WIDTH}" y="{middle:g}" text-anchor="end">n = {total:,}</text>'
    before = 0
    for number, (value, n) in enumerate(zip(values, counts, strict=True)):
        if n:
            strength = _strength(number, len(values))
            yield from _piece(f"{value}: {n:,}", before / total, n / total, y=y, strength=strength)
        before += n


def _piece(said: str, start: float, share: float, *, y: int, strength: float) -> Iterator[str]:
    long = WIDTH - _LEFT - _RIGHT
    x, width = _LEFT + long * start, long * share
    at = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"'
    yield f'<rect class="piece" fill-opacity="{strength:g}" {at}><title>{escape(said)}</title></rect>'
    if width >= _ROOM_FOR_SHARE:
        shade = "on-light" if strength < _MIDDLE else "on-middle" if strength < _DARK else "on-dark"
        place = f'x="{x + width / 2:.1f}" y="{y + _BAR / 2 + 4:g}" text-anchor="middle"'
        yield f'<text class="{shade}" {place}>{100 * share:.0f} %</text>'


def _strength(number: int, values: int) -> float:
    return round(_LIGHTEST + (_DARKEST - _LIGHTEST) * number / max(values - 1, 1), 2)
