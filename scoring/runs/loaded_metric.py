"""The loaded metric of this process: the last one stays in memory until another is requested."""

from __future__ import annotations

import gc
import hashlib
import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from scoring.metrics import registry
from scoring.metrics.contract import Metric
from scoring.metrics.registry import Runtime
from scoring.models import Scorer


@dataclass(frozen=True)
class _LoadedMetric:
    name: str
    metric: Metric
    seconds: float


_lock = threading.Lock()
_last: _LoadedMetric | None = None


def is_loaded(metric: str, options: Mapping[str, Any]) -> bool:
    return _last is not None and _last.name == _canonical_json({"metric": metric, "options": options})


def loading_seconds() -> float:
    """How long what is open took to open."""
    return _last.seconds if _last else 0.0


def load(metric: str, options: Mapping[str, Any]) -> Metric:
    """The metric with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    global _last
    name = _canonical_json({"metric": metric, "options": options})
    with _lock:
        if _last is None or _last.name != name:
            unload()  # the memory is needed by the next
            began = time.monotonic()
            found = registry.open_metric(metric, options, runtime())
            _last = _LoadedMetric(name, found, time.monotonic() - began)
        return _last.metric


def unload() -> None:
    """Give back the memory of what is open, a GPU's too: torch keeps that for its own next model, and other processes
    have none of it."""
    global _last
    _last = None
    gc.collect()
    torch = sys.modules.get("torch")  # nothing to give back where nobody has loaded it
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def runtime() -> Runtime:
    return Runtime(
        settings.SCORING_CACHE,
        settings.SCORING_CACHE_BYTES,
        settings.SCORING_DEVICE,
        settings.SCORING_CHECKPOINTS,
    )


def scorer_version(metric: str, identity: Mapping[str, Any]) -> Scorer:
    """The scorer version of this identity; made by whoever meets it first."""
    digest, config = scorer_digest(metric, identity), json.loads(_scorer_config(metric, identity))
    Scorer.objects.bulk_create([Scorer(key=metric, digest=digest, config=config)], ignore_conflicts=True)
    return Scorer.objects.get(digest=digest)


def scorer_digest(metric: str, identity: Mapping[str, Any]) -> str:
    """What names a scorer version, in the database and in files."""
    return hashlib.sha256(_scorer_config(metric, identity).encode()).hexdigest()


def _scorer_config(metric: str, identity: Mapping[str, Any]) -> str:
    return _canonical_json({"scorer": metric, **identity})


def _canonical_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
