"""Training an ORCA judge on people's ratings (ORCA §4.2 and §5.5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from scoring.backbones.loading import device_of
from scoring.metrics.orca_checkpoint import About, save_judge
from scoring.metrics.orca_clamp import WEIGHTS, Threshold, sought
from scoring.metrics.registry import Workplace
from scoring.training import outcome
from scoring.training.contract import RatedAnswer, Split, Trained, Watch
from scoring.training.keeping import Keeping
from scoring.training.orca_checks import check_options, usable, wants_whole_ratings
from scoring.training.orca_loop import Loop, Part, Progress, Settings, rank_correlation
from scoring.training.orca_parts import parts_of
from scoring.training.orca_start import Start, begun

# A change of this code that changes what a training comes to takes a new number.
_VERSION = 1


def train(
    votes: Split[RatedAnswer],
    options: Mapping[str, Any],
    *,
    seed: int,
    work: Path,
    workplace: Workplace,
    watch: Watch,
) -> Trained:
    """A contract.Train."""
    check_options(options)
    found = usable(votes, whole_ratings=wants_whole_ratings(options))
    work.mkdir(parents=True, exist_ok=True)
    fingerprint = _fingerprint(found, options, seed)
    if done := outcome.left(work, fingerprint=fingerprint):
        return done
    device = device_of(workplace.device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        start = begun(options, workplace, device=device)
        if not start.fitted:
            start.encoder.fit(found.train)
        keeping = Keeping(work, fingerprint=fingerprint)
        about, record = _learned(start, found, options, seed=seed, keeping=keeping, watch=watch)
    trained = outcome.leave(
        work,
        fingerprint=fingerprint,
        record=record,
        save=lambda folder: save_judge(folder, start.encoder, start.head, about),
    )
    keeping.clear()
    return trained


def _learned(
    start: Start,
    votes: Split[RatedAnswer],
    options: Mapping[str, Any],
    *,
    seed: int,
    keeping: Keeping,
    watch: Watch,
) -> tuple[About, dict[str, Any]]:
    parts, left_out = parts_of(start, votes, options)
    settings = settings_of(options, start.encoder.defaults)
    half = start.head.linear.weight.device.type == "cuda" and not start.about.is_built_in
    loop = Loop(
        start.encoder,
        start.head,
        train=parts["train"],
        dev=parts["dev"],
        settings=settings,
        seed=seed,
        half=half,
        keeping=keeping,
        watch=watch,
    )
    at = loop.run()
    means, variances = (np.asarray(side) for side in (loop.foretold().mean, loop.foretold().variance))
    clamp = _threshold(options["clamp"], means, variances, parts["dev"])
    record = {
        "settings": asdict(settings),
        "fields": asdict(start.about.fields),
        "precision": "bfloat16 where it is precise enough" if half else "float32",
        "parameters": _parameters(start),
        "answers": {name: len(part.prepared) for name, part in parts.items()},
        "ratings": {name: int(part.numbers.sum()) for name, part in parts.items()},
        "left_out": left_out,
        "steps": at.step,
        "stopped": "early" if at.looks >= settings.patience else "at the last step",
        "dev": _dev(at, means, parts["dev"]),
        "clamp": {"by": options["clamp"], **asdict(clamp)},
    }
    return replace(start.about, clamp_below=clamp.at_most), record


def settings_of(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Settings:
    """What the user gave; for the rest, what suits the encoder."""
    names = Settings.__dataclass_fields__
    return Settings(**{name: defaults[name] if options[name] is None else options[name] for name in names})


def _threshold(by: str, means: Any, variances: Any, dev: Part) -> Threshold:
    if by == "none":
        return Threshold(None, None, None)
    return sought(means, variances, dev.people, weights=WEIGHTS[by])


def _dev(at: Progress, means: Any, dev: Part) -> dict[str, Any]:
    """Of the best weights, before any clamping. A correlation is None where means do not vary."""
    spearman = rank_correlation(means, dev.people)
    return {
        "step": at.best_step,
        "loss": at.best_loss,
        "spearman": spearman,
        "kendall": None if spearman is None else float(stats.kendalltau(means, dev.people).statistic),
        "mae": float(np.abs(means - dev.people).mean()),
    }


def _parameters(start: Start) -> dict[str, int]:
    weights = [*start.encoder.parameters(), *start.head.parameters()]
    return {
        "all": sum(weight.numel() for weight in weights),
        "trained": sum(weight.numel() for weight in weights if weight.requires_grad),
    }


def _fingerprint(votes: Split[RatedAnswer], options: Mapping[str, Any], seed: int) -> str:
    """Of all that a training comes from but the weights it begins with."""
    content = json.dumps([_VERSION, seed, options, asdict(votes)], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
