"""What shares of a set's answers had which value: a bar of full width per set, cut into values from low to high."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

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

# For a file on its own: the house's colours by day and by night. A page links css/figures.css.
_STACKED_STYLE = """<style>
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
    legend, top = _stacked_legend(values)
    drawn = [*legend]
    for place, (name, counts) in enumerate(rows):
        drawn += _bar(name, values, counts, y=top + place * _ROW)
    height = top + _ROW * len(rows) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="stacked-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {STACKED_WIDTH} {height}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_STACKED_STYLE if on_its_own else ''}\n" + "\n".join(drawn) + "\n</svg>\n"
    )


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
    short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
    total, middle = sum(counts), y + _BAR / 2 + 4
    yield f'<text x="0" y="{middle:g}">{escape(short)}</text>'
    yield f'<text class="soft" x="{STACKED_WIDTH}" y="{middle:g}" text-anchor="end">n = {total:,}</text>'
    before = 0
    for number, (value, n) in enumerate(zip(values, counts, strict=True)):
        if n:
            strength = _strength(number, len(values))
            yield from _piece(f"{value}: {n:,}", before / total, n / total, y=y, strength=strength)
        before += n


def _piece(said: str, start: float, share: float, *, y: int, strength: float) -> Iterator[str]:
    long = STACKED_WIDTH - _LEFT - _RIGHT
    x, width = _LEFT + long * start, long * share
    at = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}"'
    yield f'<rect class="piece" fill-opacity="{strength:g}" {at}><title>{escape(said)}</title></rect>'
    if width >= _ROOM_FOR_SHARE:
        shade = "on-light" if strength < _MIDDLE else "on-middle" if strength < _DARK else "on-dark"
        place = f'x="{x + width / 2:.1f}" y="{y + _BAR / 2 + 4:g}" text-anchor="middle"'
        yield f'<text class="{shade}" {place}>{100 * share:.0f} %</text>'


def _strength(number: int, values: int) -> float:
    return round(_LIGHTEST + (_DARKEST - _LIGHTEST) * number / max(values - 1, 1), 2)


# How often each value was given in two sets, two bars beside each other per value.


PAIRED_WIDTH, PAIRED_HEIGHT = 420, 250
_PAIRED_TOP, _PAIRED_BOTTOM, _PAIRED_GAP = 48, 28, 0.22
# Counts stand on the bars where there is room for them; a table has them anyway.
_PAIRED_ROOM_FOR_COUNTS = 60
_PAIRED_ROOM_FOR_LETTER = 8
_LONGEST_BESIDE = 22

# For a file on its own: the house's colours by day and by night. A page brings its own rules for these classes.
_PAIRED_STYLE = """<style>
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
    drawn = "\n".join([*_paired_legend(names), *_pairs_of_bars(rows)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="paired-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {PAIRED_WIDTH} {PAIRED_HEIGHT}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_PAIRED_STYLE if on_its_own else ''}\n{drawn}\n</svg>\n"
    )


def _paired_legend(names: tuple[str, str]) -> Iterator[str]:
    """Side by side, or one below the other where the first would run into the second."""
    places = ((0, 4), (0, 22)) if len(names[0]) > _LONGEST_BESIDE else ((0, 4), (PAIRED_WIDTH // 2, 4))
    for (x, y), name, colour in zip(places, names, ("first", "second"), strict=True):
        yield f'<rect class="{colour}" x="{x}" y="{y}" width="12" height="12"/>'
        yield f'<text x="{x + 18}" y="{y + 11}">{escape(name)}</text>'


def _pairs_of_bars(rows: Sequence[tuple[str, int, int]]) -> Iterator[str]:
    floor, slot = PAIRED_HEIGHT - _PAIRED_BOTTOM, PAIRED_WIDTH / max(len(rows), 1)
    highest = max((n for _, *counts in rows for n in counts), default=0) or 1
    width = slot * (1 - _PAIRED_GAP) / 2
    every = _labelled(rows, slot)
    for place, (label, *counts) in enumerate(rows):
        start = place * slot + slot * _PAIRED_GAP / 2
        for x, n, colour in zip((start, start + width), counts, ("first", "second"), strict=True):
            height = (floor - _PAIRED_TOP) * n / highest
            at = f'x="{x:.1f}" y="{floor - height:.1f}" width="{width:.1f}" height="{height:.1f}"'
            yield f'<rect class="{colour}" {at}><title>{escape(label)}: {n:,}</title></rect>'
            if slot >= _PAIRED_ROOM_FOR_COUNTS:
                middle, above = x + width / 2, floor - height - 5
                yield f'<text class="soft" x="{middle:.1f}" y="{above:.1f}" text-anchor="middle">{n:,}</text>'
        if place % every == 0:
            middle = place * slot + slot / 2
            yield f'<text x="{middle:.1f}" y="{PAIRED_HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    yield f'<line class="axis" x1="0" x2="{PAIRED_WIDTH}" y1="{floor}" y2="{floor}"/>'


def _labelled(rows: Sequence[tuple[str, int, int]], slot: float) -> int:
    """Every how many-th label there is room for."""
    longest = max((len(label) for label, *_ in rows), default=0) * _PAIRED_ROOM_FOR_LETTER
    return max(1, -int(-longest // slot))


# How often each value was given: a bar per value.


VALUE_WIDTH, VALUE_HEIGHT = 420, 220
_VALUE_TOP, _VALUE_BOTTOM, _VALUE_GAP = 22, 28, 0.22
# Counts stand on the bars where there is room for them; their titles have them anyway.
_VALUE_ROOM_FOR_COUNTS = 40
_VALUE_ROOM_FOR_LETTER = 8

# For a file on its own: the house's colours by day and by night. A page links css/figures.css.
_VALUE_STYLE = """<style>
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
    drawn = "\n".join(_value_bars(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="value-bars" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {VALUE_WIDTH} {VALUE_HEIGHT}" width="100%">\n<title>{escape(title)}</title>\n'
        f"{_VALUE_STYLE if on_its_own else ''}\n{drawn}\n</svg>\n"
    )


def _value_bars(rows: Sequence[tuple[str, int]]) -> Iterator[str]:
    floor, slot = VALUE_HEIGHT - _VALUE_BOTTOM, VALUE_WIDTH / max(len(rows), 1)
    highest = max((n for _, n in rows), default=0) or 1
    longest = max((len(label) for label, _ in rows), default=0) * _VALUE_ROOM_FOR_LETTER
    every = max(1, -int(-longest // slot))
    for place, (label, n) in enumerate(rows):
        height, middle = (floor - _VALUE_TOP) * n / highest, (place + 0.5) * slot
        at = f'x="{(place + _VALUE_GAP / 2) * slot:.1f}" width="{slot * (1 - _VALUE_GAP):.1f}"'
        at += f' y="{floor - height:.1f}" height="{height:.1f}"'
        yield f'<rect class="fill" {at}><title>{escape(label)}: {n:,}</title></rect>'
        if slot >= _VALUE_ROOM_FOR_COUNTS:
            above = f'x="{middle:.1f}" y="{floor - height - 5:.1f}" text-anchor="middle"'
            yield f'<text class="soft" {above}>{n:,}</text>'
        if place % every == 0:
            yield f'<text x="{middle:.1f}" y="{VALUE_HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    yield f'<line class="axis" x1="0" x2="{VALUE_WIDTH}" y1="{floor}" y2="{floor}"/>'
