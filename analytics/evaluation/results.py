"""Benchmark results: the AQAScore paper's figures of a scorer, each with its interval and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from analytics.benchmarks import Benchmark, Rating
from analytics.statistics.arrays import FloatArray
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.correlation import correlations
from analytics.statistics.judges.accuracy import auc, composition_scores, pairwise_accuracy

# Columns of the paper's tables, in their order (AQAScore, tables 2 to 6).

Statistic = Literal["lcc", "srcc", "ktau", "auc", "accuracy", "text", "audio", "group"]

# Shown in per cent, as the paper does.
SHARES = frozenset({"accuracy", "text", "audio", "group"})


@dataclass(frozen=True)
class BenchmarkColumn:
    """One figure: what stands above it, and of which part of a benchmark it is which statistic."""

    heading: str
    label: str
    part: str
    statistic: Statistic

    @property
    def key(self) -> str:
        return f"{self.part}: {self.statistic}"

    def shown(self, value: float) -> str:
        if self.statistic in SHARES:
            return f"{100 * value:.2f}" if self.statistic != "accuracy" else f"{100 * value:.1f}"
        return f"{value:.3f}".replace("-", "−")


@dataclass(frozen=True)
class TableLayout:
    """A table of the paper: `number` is its own there."""

    name: str
    number: int
    title: str
    columns: tuple[BenchmarkColumn, ...]

    def columns_of(self, benchmark: Benchmark) -> tuple[BenchmarkColumn, ...]:
        return tuple(column for column in self.columns if column.part in benchmark.parts)


def _columns(parts: Sequence[str], statistics: Mapping[str, Statistic]) -> tuple[BenchmarkColumn, ...]:
    """For each part its statistics, by their labels."""
    return tuple(
        BenchmarkColumn(part, label, part, statistic)
        for part in parts
        for label, statistic in statistics.items()
    )


def _accuracy_columns(labels: Sequence[str], headings: Sequence[str]) -> tuple[BenchmarkColumn, ...]:
    return tuple(
        BenchmarkColumn(heading, label, f"{heading}/{label}", "accuracy")
        for heading in headings
        for label in labels
    )


_CORRELATIONS: Mapping[str, Statistic] = {"LCC": "lcc", "SRCC": "srcc", "KTAU": "ktau"}
_COMPOSITION: Mapping[str, Statistic] = {"Text": "text", "Audio": "audio", "Group": "group"}

LAYOUTS = (
    TableLayout("relevance", 2, "Human-rated relevance", _columns(("RELATE", "PAM"), _CORRELATIONS)),
    TableLayout(
        "pairwise",
        3,
        "Pairwise comparison and binary preference",
        (
            BenchmarkColumn("RELATE-Pair", "Pair Acc.", "RELATE-Pair", "accuracy"),
            BenchmarkColumn("Baton", "AUC (2)", "Baton (2)", "auc"),
            BenchmarkColumn("Baton", "AUC (3)", "Baton (3)", "auc"),
            BenchmarkColumn("Baton-Pair", "Pair Acc. (2)", "Baton-Pair (2)", "accuracy"),
            BenchmarkColumn("Baton-Pair", "Pair Acc. (3)", "Baton-Pair (3)", "accuracy"),
        ),
    ),
    TableLayout(
        "compositional",
        4,
        "Compositional reasoning",
        _columns(("CompA-Order", "CompA-Attribute"), _COMPOSITION),
    ),
    TableLayout(
        "fense",
        5,
        "FENSE",
        _accuracy_columns(("HC", "HI", "HM", "MM", "All"), ("AudioCaps-Eval", "Clotho-Eval")),
    ),
    TableLayout(
        "brace",
        6,
        "BRACE",
        _accuracy_columns(("HH", "HM", "MM", "All"), ("AudioCaps-Main", "Clotho-Main"))
        + _accuracy_columns(("AudioCaps", "Clotho"), ("Hallucination",)),
    ),
)


def layout_of(benchmark: Benchmark) -> TableLayout:
    """The table that shows it."""
    return next(layout for layout in LAYOUTS if layout.columns_of(benchmark))


@dataclass(frozen=True)
class BenchmarkFigure:
    """human_ties: pairs that people left undecided, which do not count. metric_ties: pairs of those that count which
    the scorer left undecided, each worth a half. missing: what lacks a score, and so does not count either."""

    estimate: Estimate
    missing: int
    human_ties: int = 0
    metric_ties: int = 0


def benchmark_figures(
    benchmark: Benchmark, columns: Sequence[BenchmarkColumn], scores: FloatArray, *, resampling: Resampling
) -> dict[str, BenchmarkFigure]:
    """By the key of the column. scores: one per unit, NaN where there is none; higher is better."""
    correlated = cache(lambda part: _correlation_figures(_rated(benchmark, part), scores, resampling))
    composed = cache(lambda part: _composition_figures(benchmark, part, scores, resampling))
    figures: dict[str, BenchmarkFigure] = {}
    for column in columns:
        match column.statistic:
            case "lcc" | "srcc" | "ktau":
                figures[column.key] = correlated(column.part)[column.statistic]
            case "text" | "audio" | "group":
                figures[column.key] = composed(column.part)[column.statistic]
            case "auc":
                figures[column.key] = _area(_rated(benchmark, column.part), scores, resampling)
            case "accuracy":
                leads = np.array([scores[one.first] - scores[one.second] for one in benchmark.choices])
                figures[column.key] = _accuracy_figure(benchmark, column.part, leads, resampling)
    return figures


def pair_figures(
    benchmark: Benchmark, columns: Sequence[BenchmarkColumn], leads: FloatArray, *, resampling: Resampling
) -> dict[str, BenchmarkFigure]:
    """The same for a scorer that was asked about pairs. leads: one per choice, above 0 where it prefers the first."""
    return {column.key: _accuracy_figure(benchmark, column.part, leads, resampling) for column in columns}


def _rated(benchmark: Benchmark, part: str) -> list[Rating]:
    return [one for one in benchmark.ratings if one.part == part]


def _correlation_figures(
    rated: Sequence[Rating], scores: FloatArray, resampling: Resampling
) -> dict[str, BenchmarkFigure]:
    of_rated = scores[[one.unit for one in rated]]
    estimates = correlations(
        of_rated,
        [one.human for one in rated],
        clusters=[one.cluster for one in rated],
        resampling=resampling,
    )
    missing = int(np.isnan(of_rated).sum())
    each = {"lcc": estimates.lcc, "srcc": estimates.srcc, "ktau": estimates.ktau}
    return {name: BenchmarkFigure(estimate, missing) for name, estimate in each.items()}


def _area(rated: Sequence[Rating], scores: FloatArray, resampling: Resampling) -> BenchmarkFigure:
    of_rated = scores[[one.unit for one in rated]]
    estimate = auc(
        of_rated,
        [one.human > 0 for one in rated],
        clusters=[one.cluster for one in rated],
        resampling=resampling,
    )
    return BenchmarkFigure(estimate, int(np.isnan(of_rated).sum()))


def _accuracy_figure(
    benchmark: Benchmark, part: str, leads: FloatArray, resampling: Resampling
) -> BenchmarkFigure:
    chosen = [number for number, one in enumerate(benchmark.choices) if part in one.parts]
    of_part = [benchmark.choices[number] for number in chosen]
    result = pairwise_accuracy(
        leads[chosen],
        [one.human for one in of_part],
        clusters=[one.cluster for one in of_part],
        resampling=resampling,
    )
    missing = int(np.isnan(leads[chosen]).sum())
    return BenchmarkFigure(result.accuracy, missing, result.human_ties, result.metric_ties)


def _composition_figures(
    benchmark: Benchmark, part: str, scores: FloatArray, resampling: Resampling
) -> dict[str, BenchmarkFigure]:
    cubes = scores[np.array([one.units for one in benchmark.squares if one.part == part])]
    estimates = composition_scores(cubes, resampling=resampling)
    missing = int(np.isnan(cubes).any(axis=(1, 2)).sum())
    each = {"text": estimates.text, "audio": estimates.audio, "group": estimates.group}
    return {name: BenchmarkFigure(estimate, missing) for name, estimate in each.items()}


# Stored results.

# What a scorer's usual question is called; one without it is shown by its first output.
DEFAULT_OUTPUT = "default"
# What scorers call the mean of their templates' scores, and how far those lie apart: neither is a template.
ENSEMBLE_MEAN = "mean"
ENSEMBLE_SPREAD = "spread"


@dataclass(frozen=True)
class OutputResult:
    """The figures of one output (of one question template, say), by the key of their column. `bounded`: how many of
    the examples have a score that is only a bound."""

    figures: Mapping[str, BenchmarkFigure]
    bounded: int = 0


@dataclass(frozen=True)
class BenchmarkResult:
    """`limit`: how many of each part were looked at, None for all. `faults` counts examples without a score, by code.
    `left_out`: sounds that were not in the folder."""

    benchmark: str
    scorer: str
    title: str
    model: str
    digest: str
    identity: Mapping[str, Any]
    options: Mapping[str, Any]
    limit: int | None
    n_examples: int
    faults: Mapping[str, int]
    left_out: tuple[str, ...]
    outputs: Mapping[str, OutputResult]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def usual(self) -> OutputResult:
        """The usual question's, or else the first."""
        return self.outputs.get(DEFAULT_OUTPUT) or next(iter(self.outputs.values()))

    @property
    def templates(self) -> list[str]:
        return [name for name in self.outputs if name != ENSEMBLE_MEAN]

    @property
    def columns(self) -> set[str]:
        """The keys of the columns in which it has a figure."""
        return {key for output in self.outputs.values() for key in output.figures}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> BenchmarkResult:
        outputs = {
            name: OutputResult(
                {key: _figure_from_json(one) for key, one in output["figures"].items()},
                output.get("bounded", 0),
            )
            for name, output in stored["outputs"].items()
        }
        return cls(**{**stored, "outputs": outputs, "left_out": tuple(stored["left_out"])})


def model_name(options: Mapping[str, Any], *, parts: int = 1) -> str:
    """What the paper's tables call the model: the last part of what was named, or the last few."""
    named = next((options[name] for name in ("backbone", "checkpoint", "model") if options.get(name)), "")
    return "/".join(str(named).rstrip("/").replace("#", "/").split("/")[-parts:])


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of a figure over `n` templates."""

    mean: float
    sd: float
    n: int


def spread_over_templates(result: BenchmarkResult, key: str) -> Spread | None:
    """AQAScore, section 5.4: how far a figure depends on the question's wording. None below two templates with it."""
    figures = (result.outputs[name].figures.get(key) for name in result.templates)
    values = [one.estimate.value for one in figures if one is not None and one.estimate.value is not None]
    if len(values) < 2:
        return None
    array = np.array(values, dtype=np.float64)
    return Spread(float(array.mean()), float(array.std(ddof=1)), len(array))


def _figure_from_json(stored: Mapping[str, Any]) -> BenchmarkFigure:
    estimate = dict(stored["estimate"])
    if estimate["interval"] is not None:
        estimate["interval"] = tuple(estimate["interval"])
    return BenchmarkFigure(**{**stored, "estimate": Estimate(**estimate)})
