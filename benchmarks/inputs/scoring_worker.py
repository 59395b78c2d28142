"""The product's Celery application with a scorer for benchmarks, which never lets its core rest or takes a minute."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from config.celery import app
from scoring.metrics import registry
from scoring.metrics.contract import BatchLimits, Example, Metric, Outcome, Reading
from scoring.metrics.registry import MetricEntry, Option, Reads

__all__ = ["app"]

SECONDS_SLOW = 60.0


class Dummy:
    def __init__(self, *, slow: bool) -> None:
        self.identity: Mapping[str, Any] = {"code": "benchmark", "slow": slow}
        self.limits = BatchLimits(examples=16, seconds=10_000.0)
        self._slow = slow
        self._matrix = np.random.default_rng(1).standard_normal((1024, 1024), dtype=np.float32)

    def prepare(self, examples: Sequence[Example]) -> None:
        pass

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        return [Outcome(example.key, {"value": Reading(self._value())}) for example in examples]

    def _value(self) -> float:
        if self._slow:
            time.sleep(SECONDS_SLOW)
            return 0.0
        return float((self._matrix @ self._matrix)[0, 0])


def open_dummy(options: Mapping[str, Any], runtime: registry.Runtime) -> Metric:
    return Dummy(slow=options["slow"])


DUMMY = MetricEntry(
    name="benchmark",
    title="Benchmark",
    summary="Multiplies matrices, or waits.",
    reads=Reads.SINGLE,
    opens="benchmarks.inputs.scoring_worker:open_dummy",
    options=(Option("slow", "flag", "Wait a minute for each row.", default=False),),
)
registry.METRICS[DUMMY.name] = DUMMY
