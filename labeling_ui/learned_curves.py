"""How a training goes, drawn: curves that show the same share one pair of axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext as look_up

from analytics.figures.line_plot import Line, LinePoint, line_plot

# Finer than a screen shows, and light enough to be sent every two seconds.
_MOST_POINTS = 200


@dataclass(frozen=True)
class Curves:
    """`title`: what is drawn, as loss. `svg`: colours come from css/line_plot.css."""

    title: str
    svg: SafeString


def drawn(curves: Mapping[str, Sequence[Sequence[float]]]) -> list[Curves]:
    """ "train loss" and "dev loss" are two lines of one drawing, named by their last word."""
    by_title: dict[str, list[Line]] = {}
    for name, points in sorted(curves.items(), key=lambda one: not one[0].startswith("train")):
        if kept := _points(points):
            by_title.setdefault(name.rpartition(" ")[2], []).append(Line(look_up(name), kept))
    return [Curves(look_up(title), _svg(look_up(title), lines)) for title, lines in by_title.items()]


def _points(points: Sequence[Sequence[float]]) -> list[LinePoint]:
    finite = [(step, value) for step, value in points if math.isfinite(step) and math.isfinite(value)]
    every = max(1, math.ceil(len(finite) / _MOST_POINTS))
    last = finite[-1:] if (len(finite) - 1) % every else []
    return [(step, value, None, None) for step, value in [*finite[::every], *last]]


def _svg(title: str, lines: Sequence[Line]) -> SafeString:
    return mark_safe(  # drawn by our own function, which escapes every text
        line_plot(
            _("%(what)s by step") % {"what": title},
            lines,
            x_label=_("Steps"),
            y_label=title,
            on_its_own=False,
        )
    )
