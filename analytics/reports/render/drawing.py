"""SVG drawings: the frame that every figure shares, without colours of its own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def svg_frame(
    kind: str, title: str, parts: Iterable[str], *, width: int, height: float, left: int = 0
) -> str:
    """An SVG text of the class `kind`. A page colours its classes by css/figures.css and css/line_plot.css, a file by
    `files.svg_file`. `left`: where the drawing begins, below zero for a margin."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" role="img" aria-label="{escape(title)}" '
        f'viewBox="{left} 0 {width} {height:g}" width="100%">\n<title>{escape(title)}</title>\n\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def short_name(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
