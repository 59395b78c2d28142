"""Metrics with no model behind them, for tests of what runs metrics. Registered by `register(monkeypatch)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from scoring.metrics import registry
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading, SetupError
from scoring.metrics.registry import MetricEntry, Option, Reads


class WordCount:
    """Scores a text by its words, and fails as the text tells it to. `batches` remembers what it was given."""

    def __init__(self, version: str = "1", limit: int = 4) -> None:
        self.identity: Mapping[str, Any] = {"code": "word-count", "version": version}
        self.limits = BatchLimits(examples=limit, seconds=1000.0)
        self.batches: list[list[int]] = []

    def prepare(self, examples: Sequence[Example]) -> None:
        pass

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        self.batches.append([example.key for example in examples])
        return [self._one(example) for example in examples]

    def _one(self, example: Example) -> Outcome:
        text = " ".join(example.texts)
        if "undecodable" in text:
            raise ExampleError("undecodable", "This file is damaged: decoding broke at 0.50 s.")
        if "memory" in text:
            raise MemoryError
        value = float("nan") if "nan" in text else float(len(text.split()))
        return Outcome(example.key, {"words": Reading(value)})


def open_word_count(options: Mapping[str, Any], runtime: registry.Runtime) -> Metric:
    return WordCount(version=options["version"])


WORD_COUNT = MetricEntry(
    name="word-count",
    title="Words",
    summary="Counts words.",
    reads=Reads.SINGLE,
    opens="tests.scoring.doubles:open_word_count",
    options=(Option("version", "text", "Any text.", default="1"),),
)


def register(monkeypatch: pytest.MonkeyPatch, entry: MetricEntry = WORD_COUNT) -> MetricEntry:
    monkeypatch.setitem(registry.METRICS, entry.name, entry)
    return entry


def open_nothing(options: Mapping[str, Any], runtime: registry.Runtime) -> Metric:
    raise SetupError("No weights here; fetch them first.")


class Scripted(WordCount):
    """Calls `script` with each batch before it scores it: whatever may happen meanwhile."""

    def __init__(self, script: Callable[[Sequence[Example]], None], *, limit: int = 4) -> None:
        super().__init__(limit=limit)
        self.script = script

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        self.script(examples)
        return super().score(examples)
