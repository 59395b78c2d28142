"""The sensitivity report as a drawing: a block per comparison with people, a line per template."""

from __future__ import annotations

from collections.abc import Mapping

from analytics.figures.interval_plot import Block, Point, interval_plot
from analytics.reports.sensitivity import HumanFigure, Sensitivity, TemplateScores

# What a page says in its reader's language.
WORDS: Mapping[str, str] = {
    "title": "By question template",
    "scores": "Mean score ± sd",
    "lcc": "Pearson (LCC)",
    "srcc": "Spearman (SRCC)",
    "ktau": "Kendall (tau-b)",
    "accuracy": "Pairwise accuracy",
}


def sensitivity_plot(
    found: Sensitivity, *, words: Mapping[str, str] = WORDS, on_its_own: bool = False
) -> str:
    """An SVG text; on a page its classes are coloured by the style sheet (see `interval_plot`)."""
    blocks = [Block(words["scores"], [_mean(one) for one in found.templates])]
    blocks += [_block(figure, found, words) for figure in found.humans]
    return interval_plot(words["title"], blocks, on_its_own=on_its_own)


def _mean(one: TemplateScores) -> Point:
    if one.mean is None:
        return Point(one.template, None, None, None, "–")
    sd = one.sd or 0.0
    return Point(one.template, one.mean, one.mean - sd, one.mean + sd, _number(one.mean))


def _block(figure: HumanFigure, found: Sensitivity, words: Mapping[str, str]) -> Block:
    points = []
    for one, estimate in zip(found.templates, figure.by_template, strict=True):
        low, high = estimate.interval or (None, None)
        shown = "–" if estimate.value is None else _number(estimate.value)
        points.append(Point(one.template, estimate.value, low, high, shown))
    return Block(f"{figure.title} · {words[figure.statistic]}", points)


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
