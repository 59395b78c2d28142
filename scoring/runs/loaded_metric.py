"""The loaded metric of this process, and the scorer versions that metrics open as."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scoring.metrics import registry
from scoring.metrics.contract import Metric, deciding_identity
from scoring.metrics.server_use import ServerUse, UsageMeter
from scoring.models import Scorer
from scoring.runs.model_loading import LoadedModel, canonical_json, runtime

LOADED = LoadedModel[Metric]()
# What servers report to this process, in which one metric scores at a time.
METER = UsageMeter()
loading_seconds, unload = LOADED.loading_seconds, LOADED.unload


def is_loaded(metric: str, options: Mapping[str, Any]) -> bool:
    return LOADED.is_loaded(_key(metric, options))


def load(metric: str, options: Mapping[str, Any]) -> Metric:
    """The metric with its weights in memory. Raises OptionError, SetupError and whatever loading raises."""
    metered = replace(runtime(), server=ServerUse(meter=METER))
    return LOADED.load(_key(metric, options), lambda: registry.open_metric(metric, options, metered))


def _key(metric: str, options: Mapping[str, Any]) -> str:
    return canonical_json({"metric": metric, "options": options})


def scorer_version(metric: str, identity: Mapping[str, Any]) -> Scorer:
    """The scorer version of this identity; made by whoever meets it first."""
    digest, config = scorer_digest(metric, identity), json.loads(_scorer_config(metric, identity))
    Scorer.objects.bulk_create([Scorer(key=metric, digest=digest, config=config)], ignore_conflicts=True)
    return Scorer.objects.get(digest=digest)


def scorer_digest(metric: str, identity: Mapping[str, Any]) -> str:
    """The digest of a scorer version, in the database and in files."""
    return hashlib.sha256(_scorer_config(metric, deciding_identity(identity)).encode()).hexdigest()


def _scorer_config(metric: str, identity: Mapping[str, Any]) -> str:
    return canonical_json({"scorer": metric, **identity})
