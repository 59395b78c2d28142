"""What a scorer's scores of a benchmark come to: the paper's figures, each with its interval and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from analytics.benchmarks import Benchmark, Rating
from analytics.reports.benchmark_tables import Column
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.composition import composition_scores
from analytics.statistics.correlation import correlations
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.pairwise_accuracy import pairwise_accuracy
from analytics.statistics.roc import auc


@dataclass(frozen=True)
class Figure:
    """human_ties: pairs that people left undecided, which do not count. metric_ties: pairs of those that count which
    the scorer left undecided, each worth a half. missing: what lacks a score, and so does not count either."""

    estimate: Estimate
    missing: int
    human_ties: int = 0
    metric_ties: int = 0


def figures(
    benchmark: Benchmark, columns: Sequence[Column], scores: FloatArray, *, resampling: Resampling
) -> dict[str, Figure]:
    """By the key of the column. scores: one per unit, NaN where there is none; higher is better."""
    correlated = cache(lambda part: _correlations(_rated(benchmark, part), scores, resampling))
    composed = cache(lambda part: _compositions(benchmark, part, scores, resampling))
    found: dict[str, Figure] = {}
    for column in columns:
        match column.statistic:
            case "lcc" | "srcc" | "ktau":
                found[column.key] = correlated(column.part)[column.statistic]
            case "text" | "audio" | "group":
                found[column.key] = composed(column.part)[column.statistic]
            case "auc":
                found[column.key] = _area(_rated(benchmark, column.part), scores, resampling)
            case "accuracy":
                leads = np.array([scores[one.first] - scores[one.second] for one in benchmark.choices])
                found[column.key] = _accuracy(benchmark, column.part, leads, resampling)
    return found


def pair_figures(
    benchmark: Benchmark, columns: Sequence[Column], leads: FloatArray, *, resampling: Resampling
) -> dict[str, Figure]:
    """The same for a scorer that was asked about pairs. leads: one per choice, above 0 where it prefers the first."""
    return {column.key: _accuracy(benchmark, column.part, leads, resampling) for column in columns}


def _rated(benchmark: Benchmark, part: str) -> list[Rating]:
    return [one for one in benchmark.ratings if one.part == part]


def _correlations(rated: Sequence[Rating], scores: FloatArray, resampling: Resampling) -> dict[str, Figure]:
    of_rated = scores[[one.unit for one in rated]]
    found = correlations(
        of_rated,
        [one.human for one in rated],
        clusters=[one.cluster for one in rated],
        resampling=resampling,
    )
    missing = int(np.isnan(of_rated).sum())
    each = {"lcc": found.lcc, "srcc": found.srcc, "ktau": found.ktau}
    return {name: Figure(estimate, missing) for name, estimate in each.items()}


def _area(rated: Sequence[Rating], scores: FloatArray, resampling: Resampling) -> Figure:
    of_rated = scores[[one.unit for one in rated]]
    found = auc(
        of_rated,
        [one.human > 0 for one in rated],
        clusters=[one.cluster for one in rated],
        resampling=resampling,
    )
    return Figure(found, int(np.isnan(of_rated).sum()))


def _accuracy(benchmark: Benchmark, part: str, leads: FloatArray, resampling: Resampling) -> Figure:
    chosen = [number for number, one in enumerate(benchmark.choices) if part in one.parts]
    of_part = [benchmark.choices[number] for number in chosen]
    found = pairwise_accuracy(
        leads[chosen],
        [one.human for one in of_part],
        clusters=[one.cluster for one in of_part],
        resampling=resampling,
    )
    missing = int(np.isnan(leads[chosen]).sum())
    return Figure(found.accuracy, missing, found.human_ties, found.metric_ties)


def _compositions(
    benchmark: Benchmark, part: str, scores: FloatArray, resampling: Resampling
) -> dict[str, Figure]:
    cubes = scores[np.array([one.units for one in benchmark.squares if one.part == part])]
    found = composition_scores(cubes, resampling=resampling)
    missing = int(np.isnan(cubes).any(axis=(1, 2)).sum())
    each = {"text": found.text, "audio": found.audio, "group": found.group}
    return {name: Figure(estimate, missing) for name, estimate in each.items()}
