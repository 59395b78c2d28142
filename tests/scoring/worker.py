"""The product's Celery application with a scorer that takes its time: `celery -A tests.scoring.worker`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from config.celery import app
from scoring.metrics import registry
from scoring.metrics.contract import Example, Metric
from scoring.metrics.registry import MetricEntry, Reads
from tests.scoring.doubles import Scripted

__all__ = ["SLOW", "app"]


def open_slow(options: Mapping[str, Any], runtime: registry.Runtime) -> Metric:
    def take_time(examples: Sequence[Example]) -> None:
        time.sleep(0.05 * len(examples))

    return Scripted(take_time)


SLOW = MetricEntry("slow", "Slow", "Counts words, slowly.", Reads.SINGLE, "tests.scoring.worker:open_slow")
registry.METRICS[SLOW.name] = SLOW
