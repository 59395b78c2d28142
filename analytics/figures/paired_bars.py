"""How often each value was given in two sets, two bars beside each other per value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

WIDTH, HEIGHT = 420, 250
_TOP, _BOTTOM, _GAP = 48, 28, 0.22
# Counts stand on the bars where there is room for them; a table has them anyway.
_ROOM_FOR_COUNTS = 60
_ROOM_FOR_LETTER = 8
_LONGEST_BESIDE = 22

# For a file on its own: the house's colours by day and by night. A page brings its own rules for these classes.
_STYLE = """<style>
.paired-bars{font:15px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;background:#fff}
.paired-bars text{fill:#1d1f1e}
.paired-bars .soft{fill:#5a5d59;font-size:13px}
.paired-bars .axis{stroke:#8b8980}
.paired-bars .first{fill:#c9c6bd}
.paired-bars .second{fill:#0b6e66}
@media (prefers-color-scheme:dark){.paired-bars{background:#1c1f1e}.paired-bars text{fill:#eceeec}
.paired-bars .soft{fill:#a9b0ad}.paired-bars .axis{stroke:#7f8683}.paired-bars .first{fill:#5a605d}
.paired-bars .second{fill:#5cc8bb}}
</style>"""


def paired_bars(
    title: str,
    names: tuple[str, str],
    rows: Sequence[tuple[str, int, int]],
    *,
    on_its_own: bool = True,
) -> str:
    """An SVG text. `names` are of the two sets; a row is a value's label and how often each set has it.

    `on_its_own` brings colours along, for a file; on a page the classes `paired-bars`, `soft`, `axis`, `first` and
    `second` are coloured by its style sheet.
    """
    drawn = "\n".join([*_legend(names), *_bars(rows)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="paired-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_STYLE if on_its_own else ''}\n{drawn}\n</svg>\n"
    )


def _legend(names: tuple[str, str]) -> Iterator[str]:
    """Side by side, or one below the other where the first would run into the second."""
    places = ((0, 4), (0, 22)) if len(names[0]) > _LONGEST_BESIDE else ((0, 4), (WIDTH // 2, 4))
    for (x, y), name, colour in zip(places, names, ("first", "second"), strict=True):
        yield f'<rect class="{colour}" x="{x}" y="{y}" width="12" height="12"/>'
        yield f'<text x="{x + 18}" y="{y + 11}">{escape(name)}</text>'


def _bars(rows: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    floor, slot = HEIGHT - _BOTTOM, WIDTH / max(len(rows), 1)
    highest = max((n for _, *counts in rows for n in counts), default=0) or 1
    width = slot * (1 - _GAP) / 2
    every = _labelled(rows, slot)
    for place, (label, *counts) in enumerate(rows):
        start = place * slot + slot * _GAP / 2
        for x, n, colour in zip((start, start + width), counts, ("first", "second"), strict=True):
            height = (floor - _TOP) * n / highest
            at = f'x="{x:.1f}" y="{floor - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
            yield f'<rect class="{colour}" {at}><title>{escape(label)}: {n:,}</title></rect>'
            if slot >= _ROOM_FOR_COUNTS:
                middle, above = x + width / 2, floor - height - 5
                yield f'<text class="soft" x="{middle:.1f}" y="{above:.1f}" text-anchor="middle">{n:,}</text>'
        if place % every == 0:
            middle = place * slot + slot / 2
            yield f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    yield f'<line class="axis" x1="0" x2="{WIDTH}" y1="{floor}" y2="{floor}"/>'


def _labelled(rows: Sequence[tuple[str, int, int]], slot: float) -> int:
    """Every how many-th label there is room for."""
    longest = max((len(label) for label, *_ in rows), default=0) * _ROOM_FOR_LETTER
    return max(1, -int(-longest // slot))
