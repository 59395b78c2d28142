"""A document's figure as a file of its own, for a paper: plain colours, and a size.

Figures of a report have no colours but classes that style sheets colour by variables. Programs that set papers know no
variables, so the rules that apply are written into the drawing with the values that paper has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from analytics.renderings.styles import static_text

_VARIABLES = "css/variables.css"
_RULES = ("css/figures.css", "css/line_plot.css")
_WIDTH = 720


def svg_file(svg: str) -> str:
    """The drawing with its style and with width and height; one that brings a style along keeps that."""
    kind = re.search(r'class="([\w-]+)', svg)
    style = "" if "<style>" in svg or kind is None else f"\n<style>\n{_style(kind[1])}\n</style>"
    return re.sub(r"<svg[^>]*>", lambda found: _sized(found[0]) + style, svg, count=1)


def _sized(opening: str) -> str:
    box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', opening)
    if box is None or ' height="' in opening:
        return opening
    height = f"{_WIDTH * float(box[2]) / float(box[1]):.0f}"
    return opening.replace('width="100%"', f'width="{_WIDTH}" height="{height}"')


@cache
def _style(kind: str) -> str:
    """The rules for a class of drawings, by day, with every variable replaced by its value."""
    rules = [rule for name in _RULES for rule in _plain_rules(static_text(name)) if f".{kind}" in rule[0]]
    variables = dict(re.findall(r"(--[\w-]+):\s*([^;]+);", _plain_text(static_text(_VARIABLES))))
    for _selector, body in rules:
        variables |= dict(re.findall(r"(--[\w-]+):\s*([^;]+);", body))
    lines = (f"{selector}{{{_resolved(body, variables)}}}" for selector, body in rules)
    return "\n".join(["svg{background:#fff}", *lines])


def _plain_rules(css: str) -> Iterator[tuple[str, str]]:
    """Selector and body of the rules that hold everywhere, on one line each."""
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", _plain_text(css)):
        yield " ".join(selector.split()), " ".join(body.split())


def _plain_text(css: str) -> str:
    """Without comments and without what is for some media only."""
    without = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    return re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", without)


def _resolved(body: str, variables: dict[str, str]) -> str:
    body = re.sub(r"--[\w-]+:[^;]*;\s*", "", body)
    while "var(--" in body:
        body = re.sub(r"var\((--[\w-]+)\)", lambda found: variables[found[1]], body)
    return " ".join(body.split())
