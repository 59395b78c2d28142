"""How often each value was given: a bar per value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

WIDTH, HEIGHT = 420, 220
_TOP, _BOTTOM, _GAP = 22, 28, 0.22
# Counts stand on the bars where there is room for them; their titles have them anyway.
_ROOM_FOR_COUNTS = 40
_ROOM_FOR_LETTER = 8

# For a file on its own: the house's colours by day and by night. A page links css/figures.css.
_STYLE = """<style>
.value-bars{font:15px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:#fff}
.value-bars text{fill:#1d1f1e}
.value-bars .soft{fill:#5a5d59;font-size:13px}
.value-bars .axis{stroke:#8b8980}
.value-bars .fill{fill:#0b6e66}
@media (prefers-color-scheme:dark){.value-bars{background:#1c1f1e}.value-bars text{fill:#eceeec}
.value-bars .soft{fill:#a9b0ad}.value-bars .axis{stroke:#7f8683}.value-bars .fill{fill:#5cc8bb}}
</style>"""


def value_bars(title: str, rows: Sequence[tuple[str, int]], *, on_its_own: bool = True) -> str:
    """An SVG text. A row is a value's label and how often it was given.

    `on_its_own` brings colours along, for a file; on a page css/figures.css colours the classes.
    """
    drawn = "\n".join(_bars(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="value-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_STYLE if on_its_own else ''}\n{drawn}\n</svg>\n"
    )


def _bars(rows: Sequence[tuple[str, int]]) -> Iterator[str]:
    floor, slot = HEIGHT - _BOTTOM, WIDTH / max(len(rows), 1)
    highest = max((n for _, n in rows), default=0) or 1
    longest = max((len(label) for label, _ in rows), default=0) * _ROOM_FOR_LETTER
    every = max(1, -int(-longest // slot))
    for place, (label, n) in enumerate(rows):
        height, middle = (floor - _TOP) * n / highest, (place + 0.5) * slot
        at = f'x="{(place + _GAP / 2) * slot:.1f}" width="{slot * (1 - _GAP):.1f}"'
        at += f' y="{floor - height:.1f}" height="{height:.1f}"'
        yield f'<rect class="fill" {at}><title>{escape(label)}: {n:,}</title></rect>'
        if slot >= _ROOM_FOR_COUNTS:
            above = f'x="{middle:.1f}" y="{floor - height - 5:.1f}" text-anchor="middle"'
            yield f'<text class="soft" {above}>{n:,}</text>'
        if place % every == 0:
            yield f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    yield f'<line class="axis" x1="0" x2="{WIDTH}" y1="{floor}" y2="{floor}"/>'
