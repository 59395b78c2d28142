"""The training record: all that a reader needs to judge a version, or to train it again."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import torch
from django.db.models import Max

from analytics import training_things
from analytics.services.code_version import code_version
from analytics.services.training_material import SYSTEMS, Material, Parts, systems_held_out
from annotation.models import Judgment, Study
from scoring.backbones.loading import device_of
from scoring.models import LearnedModel
from scoring.services.opened import workplace

_LIBRARIES = ("torch", "transformers", "numpy", "scipy")


def record(
    model: LearnedModel,
    material: Material,
    first: Parts,
    repeats: Sequence[Mapping[str, Any]],
    *,
    seconds: float,
    peak_memory_mb: float | None,
    gpu_peak_memory_mb: float | None,
    release: Mapping[str, Any] | None,
    ancestors: Sequence[str],
) -> dict[str, Any]:
    """As JSON. `first` is the split of the version that is kept. `seconds` is wall time since a worker last took the
    training up, and memory the most since then; `trainings` sums what each repeat took."""
    return {
        "data_sha256": training_things.sha256(one.thing for one in [*material.judged, *material.pseudo]),
        "release": release,
        "seed": 0,
        "options": model.options,
        "plan": model.plan,
        "counts": dict(first.counts),
        "grouped_by": training_things.tied_by([*material.judged, *material.pseudo]),
        "held_out": held_out(model, material, first),
        "ancestors": list(ancestors),
        "repeats": [
            {name: repeat[name] for name in ("seed", "counts", "figures", "seconds")} for repeat in repeats
        ],
        "figures": over_repeats([repeat["figures"] for repeat in repeats]),
        "baselines": over_repeats([repeat["baselines"] for repeat in repeats]),
        "ceiling": over_repeats([repeat["ceiling"] for repeat in repeats]),
        "trained": repeats[0]["trained"],
        "hardware": hardware(),
        "seconds": seconds,
        "trainings": sum(repeat["seconds"] for repeat in repeats),
        "peak_memory_mb": peak_memory_mb,
        "gpu_peak_memory_mb": gpu_peak_memory_mb,
        "versions": {
            "concord": code_version(),
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
    }


def release_with(study: Study) -> dict[str, Any] | None:
    """The newest release of a study, where it has all the votes that there are now."""
    release = study.releases.order_by("-number").first()
    last = Judgment.objects.filter(study=study, effective=True).aggregate(last=Max("pk"))["last"]
    if release is None or last is None or release.manifest["cut"]["horizon"]["judgments"] < last:
        return None
    return {"number": release.number, "sha256": release.sha256}


def held_out(model: LearnedModel, material: Material, first: Parts) -> dict[str, list[Any]]:
    """By kind what the version that is kept has not learned from."""
    return {
        "items": sorted({one.item for one in first.test}),
        "raters": sorted(first.held_out_raters),
        "systems": list(systems_held_out(material, seed=0)) if model.plan["split"] == SYSTEMS else [],
    }


def over_repeats(figures: Sequence[Mapping[str, float | None]]) -> dict[str, dict[str, float | int | None]]:
    """By name the mean of a figure, its standard deviation over repeats (n - 1; None for one) and how many there are.
    A figure that is undefined in a repeat is left out there; undefined in all, its mean is None."""
    names = list(dict.fromkeys(name for each in figures for name in each))
    found: dict[str, dict[str, float | int | None]] = {}
    for name in names:
        values = [value for each in figures if (value := each.get(name)) is not None]
        found[name] = {
            "mean": statistics.fmean(values) if values else None,
            "sd": statistics.stdev(values) if len(values) > 1 else None,
            "n": len(values),
        }
    return found


def hardware() -> dict[str, Any]:
    device = device_of(workplace().device)
    return {
        "machine": platform.machine(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
    }
