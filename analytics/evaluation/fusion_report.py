"""A fusion of judges as a document: answers that count, weights, figures on the test split, and an interval plot."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.reports.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Measured,
    Paragraph,
    Section,
    Table,
)
from analytics.reports.render import interval_plot
from analytics.statistics import bootstrap
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.judges import fusion, paired_difference
from analytics.statistics.judges.fusion import PARTS, Fusion, TestFigures

_SENTENCES = {**bootstrap.SENTENCES, **paired_difference.SENTENCES, **fusion.SENTENCES}
_NOTES = (
    "Weights are the least squares on train that are not negative and sum to 1; each judge's scores are first brought "
    "to people's by a line that does not fall, fitted on dev (ORCA, section 5.6). Nothing is chosen on test."
)


def fusion_document(
    found: Fusion, *, title: str, facts: list[tuple[str, str]], resampling: Resampling
) -> Document:
    return Document(
        title, "en", facts, [Section("fusion", "Fusion of judges", list(fusion_blocks(found, resampling)))]
    )


def fusion_blocks(found: Fusion, resampling: Resampling) -> Iterator[Block]:
    yield _counts(found)
    yield _weights(found, resampling)
    if constant := [one.judge for one in found.weights if one.is_constant]:
        yield Paragraph(
            f"On dev, {', '.join(constant)} gave every answer the same score. Its calibrated score is people's mean "
            "rating there, whatever it scores; its weight says nothing of it.",
            warning=True,
        )
    yield _figures(found, resampling)
    yield Figure("fusion_plot", "On the test split, with intervals", fusion_plot(found))


def measured(estimate: Estimate) -> Measured:
    low, high = estimate.interval or (None, None)
    complete = estimate.value is not None and estimate.interval is not None
    reason = None if complete or estimate.reason is None else _SENTENCES[estimate.reason]
    return Measured(estimate.value, low, high, reason)


def test_rows(found: Fusion) -> Iterator[TestFigures]:
    yield from found.judges
    yield found.mean
    yield found.fusion
    yield from found.without


def _counts(found: Fusion) -> Table:
    judges = [one.judge for one in found.weights]
    columns = [
        Column("split", "Split"), Column("answers", "Answers", "count"), Column("used", "Used", "count"),
        Column("unrated", "Without ratings", "count"),
        *(Column(f"missing_{name}", f"Without {name}", "count") for name in judges),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for part in PARTS:
        one = found.counts[part]
        rows.append([part, one.answers, one.used, one.unrated, *(one.missing[name] for name in judges)])
    note = "Used: people rated the answer and every judge scored it. All others are left out of every figure here."
    return Table("fusion_answers", "Answers that count", columns, rows, [note])


def _weights(found: Fusion, resampling: Resampling) -> Table:
    columns = [
        Column("judge", "Judge"), Column("weight", "Weight", "number", 3),
        Column("slope", "Calibration, slope", "number", 3),
        Column("intercept", "Calibration, intercept", "number", 3),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [one.judge, measured(one.weight), one.slope, one.intercept] for one in found.weights
    ]
    return Table("fusion_weights", "Weights", columns, rows, [_NOTES, _drawn(resampling)])


def _figures(found: Fusion, resampling: Resampling) -> Table:
    columns = [
        Column("judge", "Judge"), Column("n", "Answers", "count"),
        Column("pearson", "Pearson", "number", 3), Column("spearman", "Spearman", "number", 3),
        Column("kendall", "Kendall (tau-b)", "number", 3), Column("mae", "MAE", "number", 3),
        Column("calibrated_mae", "MAE, calibrated", "number", 3),
        Column("less_fusion", "Spearman less that of the fusion", "number", 3),
    ]  # fmt: skip
    rows = [_row(one, _label(found, one)) for one in test_rows(found)]
    averaged = ", ".join(found.averaged) or "no judge"
    notes = [
        f"Best single judge: {found.best}, by Spearman on train and dev. The mean is of {averaged}: judges whose "
        "scores are from 0 to 1.",
        "MAE: against people's mean rating, on a scale from 0 to 1. “without …”: the fusion of the other judges, "
        "fitted again.",
        _drawn(resampling),
    ]
    return Table("fusion_test", "On the test split", columns, rows, notes)


def _label(found: Fusion, one: TestFigures) -> str:
    return f"{one.name} (best single)" if one.name == found.best else one.name


def _row(one: TestFigures, label: str) -> list[Cell]:
    less = None if one.less is None else measured(one.less.difference)
    three = (one.pearson, one.spearman, one.kendall, one.mae, one.calibrated_mae)
    return [label, one.spearman.n, *map(measured, three), less]


def _drawn(resampling: Resampling) -> str:
    return (
        f"In brackets: {100 * resampling.level:g} % percentile intervals of {resampling.replicates:,} resamples of the "
        "questions, each with all its answers."
    )


def fusion_plot(found: Fusion) -> str:
    blocks = [
        interval_plot.Block(heading, [_point(one.name, getattr(one, name)) for one in test_rows(found)])
        for heading, name in (("Spearman", "spearman"), ("MAE", "mae"))
    ]
    return interval_plot.interval_plot("Judges and their fusion on the test split", blocks)


def _point(name: str, estimate: Estimate) -> interval_plot.Point:
    low, high = estimate.interval or (None, None)
    shown = "undefined" if estimate.value is None else f"{estimate.value:.3f}".replace("-", "−")
    return interval_plot.Point(name, estimate.value, low, high, shown)
