"""Which figures the paper's tables show: their columns, in their order (AQAScore, tables 2 to 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analytics.benchmarks import Benchmark

Statistic = Literal["lcc", "srcc", "ktau", "auc", "accuracy", "text", "audio", "group"]

# Shown in per cent, as the paper does.
SHARES = frozenset({"accuracy", "text", "audio", "group"})


@dataclass(frozen=True)
class Column:
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
class Layout:
    """A table of the paper: `number` is its own there."""

    name: str
    number: int
    title: str
    columns: tuple[Column, ...]

    def columns_of(self, benchmark: Benchmark) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.part in benchmark.parts)


def _correlations(part: str) -> tuple[Column, ...]:
    return (
        Column(part, "LCC", part, "lcc"),
        Column(part, "SRCC", part, "srcc"),
        Column(part, "KTAU", part, "ktau"),
    )


def _accuracies(heading: str, labels: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(heading, label, f"{heading}/{label}", "accuracy") for label in labels)


def _compositions(part: str) -> tuple[Column, ...]:
    return (
        Column(part, "Text", part, "text"),
        Column(part, "Audio", part, "audio"),
        Column(part, "Group", part, "group"),
    )


_FENSE = ("HC", "HI", "HM", "MM", "All")
_BRACE = ("HH", "HM", "MM", "All")

LAYOUTS = (
    Layout("relevance", 2, "Human-rated relevance", _correlations("RELATE") + _correlations("PAM")),
    Layout(
        "pairwise",
        3,
        "Pairwise comparison and binary preference",
        (
            Column("RELATE-Pair", "Pair Acc.", "RELATE-Pair", "accuracy"),
            Column("Baton", "AUC (2)", "Baton (2)", "auc"),
            Column("Baton", "AUC (3)", "Baton (3)", "auc"),
            Column("Baton-Pair", "Pair Acc. (2)", "Baton-Pair (2)", "accuracy"),
            Column("Baton-Pair", "Pair Acc. (3)", "Baton-Pair (3)", "accuracy"),
        ),
    ),
    Layout(
        "compositional",
        4,
        "Compositional reasoning",
        _compositions("CompA-Order") + _compositions("CompA-Attribute"),
    ),
    Layout("fense", 5, "FENSE", _accuracies("AudioCaps-Eval", _FENSE) + _accuracies("Clotho-Eval", _FENSE)),
    Layout(
        "brace",
        6,
        "BRACE",
        _accuracies("AudioCaps-Main", _BRACE)
        + _accuracies("Clotho-Main", _BRACE)
        + _accuracies("Hallucination", ("AudioCaps", "Clotho")),
    ),
)


def layout_of(benchmark: Benchmark) -> Layout:
    """The table that shows it."""
    return next(layout for layout in LAYOUTS if layout.columns_of(benchmark))
