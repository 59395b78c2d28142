"""The model that this process has open: the last one, kept until another is asked for."""

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
from scoring.metrics.registry import Workplace
from scoring.models import Scorer


@dataclass(frozen=True)
class _Opened:
    name: str
    metric: Metric
    seconds: float


_lock = threading.Lock()
_last: _Opened | None = None


def is_open(metric: str, options: Mapping[str, Any]) -> bool:
    return _last is not None and _last.name == _canonical({"metric": metric, "options": options})


def seconds_to_open() -> float:
    """How long what is open took to open."""
    return _last.seconds if _last else 0.0


def opened(metric: str, options: Mapping[str, Any]) -> Metric:
    """The metric with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    global _last
    name = _canonical({"metric": metric, "options": options})
    with _lock:
        if _last is None or _last.name != name:
            close()  # the memory is needed by the next
            began = time.monotonic()
            found = registry.open_metric(metric, options, workplace())
            _last = _Opened(name, found, time.monotonic() - began)
        return _last.metric


def close() -> None:
    """Give back the memory of what is open, a GPU's too: torch keeps that for its own next model, and other processes
    have none of it."""
    global _last
    _last = None
    gc.collect()
    torch = sys.modules.get("torch")  # nothing to give back where nobody has loaded it
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def workplace() -> Workplace:
    return Workplace(
        settings.SCORING_CACHE,
        settings.SCORING_CACHE_BYTES,
        settings.SCORING_DEVICE,
        settings.SCORING_CHECKPOINTS,
    )


def scorer_of(metric: str, identity: Mapping[str, Any]) -> Scorer:
    """The scorer version of this identity; made by whoever meets it first."""
    digest, config = digest_of(metric, identity), json.loads(_config(metric, identity))
    Scorer.objects.bulk_create([Scorer(key=metric, digest=digest, config=config)], ignore_conflicts=True)
    return Scorer.objects.get(digest=digest)


def digest_of(metric: str, identity: Mapping[str, Any]) -> str:
    """What names a scorer version, in the database and in files."""
    return hashlib.sha256(_config(metric, identity).encode()).hexdigest()


def _config(metric: str, identity: Mapping[str, Any]) -> str:
    return _canonical({"scorer": metric, **identity})


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
