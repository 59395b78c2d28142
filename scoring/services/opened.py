"""The model that this process has open: the last one, kept until another is asked for."""

from __future__ import annotations

import gc
import hashlib
import json
import threading
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from scoring.metrics import registry
from scoring.metrics.contract import Metric
from scoring.metrics.registry import Workplace
from scoring.models import Scorer

_lock = threading.Lock()
_last: tuple[str, Metric] | None = None


def is_open(metric: str, options: Mapping[str, Any]) -> bool:
    return _last is not None and _last[0] == _canonical({"metric": metric, "options": options})


def opened(metric: str, options: Mapping[str, Any]) -> Metric:
    """The metric with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    global _last
    name = _canonical({"metric": metric, "options": options})
    with _lock:
        if _last is None or _last[0] != name:
            close()  # the memory is needed by the next
            _last = name, registry.open_metric(metric, options, workplace())
        return _last[1]


def close() -> None:
    global _last
    _last = None
    gc.collect()


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
