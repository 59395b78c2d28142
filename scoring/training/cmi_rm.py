"""Training a CMI-RM on people's preferences and ratings (CMI-RewardBench, §3.3.2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from scoring.backbones.loading import device_of
from scoring.metrics import cmi_rm_checkpoint
from scoring.metrics.registry import Workplace
from scoring.training import outcome
from scoring.training.cmi_rm_checks import FEWEST_DEV, FEWEST_TRAIN, check_options, check_votes
from scoring.training.cmi_rm_loop import Loop, Settings
from scoring.training.cmi_rm_material import Said, Unit, refuse_silence, said_of, units_of
from scoring.training.cmi_rm_start import Start, begun, complete
from scoring.training.contract import MusicVotes, Trained, Watch
from scoring.training.keeping import Keeping

# A change of this code that changes what a training comes to takes a new number.
_VERSION = 1


def train(
    votes: MusicVotes,
    options: Mapping[str, Any],
    *,
    seed: int,
    work: Path,
    workplace: Workplace,
    watch: Watch,
) -> Trained:
    """A contract.Train."""
    check_options(options)
    check_votes(votes)
    work.mkdir(parents=True, exist_ok=True)
    said = _said(votes, by_confidence=options["by_confidence"])
    device = device_of(workplace.device)
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        start = begun(options, workplace)
        fingerprint = _fingerprint(said, options, start, seed)
        if done := outcome.left(work, fingerprint=fingerprint):
            return done
        keeping = Keeping(work, fingerprint=fingerprint)
        start.model.to(device)
        record = _learned(start, said, options, seed=seed, keeping=keeping, watch=watch)
    trained = outcome.leave(
        work,
        fingerprint=fingerprint,
        record=record,
        save=lambda folder: cmi_rm_checkpoint.save(folder, start.model, start.recipe),
    )
    keeping.clear()
    return trained


def _said(votes: MusicVotes, *, by_confidence: bool) -> dict[str, list[Said]]:
    pairs, rated = votes.pairs, votes.rated
    return {
        "first": said_of(votes.pseudo, by_confidence=by_confidence),
        "train": said_of(pairs.train, rated.train, by_confidence=by_confidence),
        "dev": said_of(pairs.dev, rated.dev, by_confidence=by_confidence),
    }


def _learned(
    start: Start,
    said: Mapping[str, Sequence[Said]],
    options: Mapping[str, Any],
    *,
    seed: int,
    keeping: Keeping,
    watch: Watch,
) -> dict[str, Any]:
    units, left_out = _heard(start, said, watch)
    settings = settings_of(options)
    loop = Loop(
        start.model,
        first=units["first"],
        train=units["train"],
        dev=units["dev"],
        settings=settings,
        seed=seed,
        started=bool(start.sha256),
        keeping=keeping,
        watch=watch,
    )
    at = loop.run()
    return {
        "settings": asdict(settings),
        "shape": asdict(start.recipe.shape),
        "encoder": start.recipe.encoder,
        "started_from": start.sha256,
        "parameters": sum(weight.numel() for weight in start.model.parameters()),
        "units": {name: _counts(part) for name, part in units.items()},
        "left_out": left_out,
        "steps": at.step,
        "stopped": "early" if at.looks >= settings.patience else "at the last step",
        "dev": {"step": at.best_step, **asdict(loop.figures())},
    }


def settings_of(options: Mapping[str, Any]) -> Settings:
    whole = complete(options)
    return Settings(**{name: whole[name] for name in Settings.__dataclass_fields__})


def _heard(
    start: Start, said: Mapping[str, Sequence[Said]], watch: Watch
) -> tuple[dict[str, list[Unit]], dict[str, str]]:
    units: dict[str, list[Unit]] = {}
    left_out: dict[str, str] = {}
    of = sum(len(part) for part in said.values())
    for name, part in said.items():
        before = sum(len(said[earlier]) for earlier in units)

        def heard(done: int, before: int = before) -> None:
            watch.progress(before + done, of, stage="listening")

        units[name], silent = units_of(part, start.encoder, start.recipe.feeding, heard=heard)
        left_out |= silent
    refuse_silence(units["train"], left_out, part="train", fewest=FEWEST_TRAIN)
    refuse_silence(units["dev"], left_out, part="dev", fewest=FEWEST_DEV)
    return units, left_out


def _counts(units: Sequence[Unit]) -> dict[str, float]:
    """`votes` and `ratings` over both heads; by confidence, their weight."""
    weight = {
        is_pair: sum(float(one.weight.sum()) for one in units if one.is_pair == is_pair)
        for is_pair in (True, False)
    }
    pairs = sum(one.is_pair for one in units)
    return {"pairs": pairs, "votes": weight[True], "clips": len(units) - pairs, "ratings": weight[False]}


def _fingerprint(
    said: Mapping[str, Sequence[Said]], options: Mapping[str, Any], start: Start, seed: int
) -> str:
    """Of all that a training comes from. A sound is known by its content, wherever it lies."""
    facts = {name: [_facts(one) for one in part] for name, part in said.items()}
    content = [_VERSION, seed, dict(options), start.sha256, start.encoder.identity, facts]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _facts(said: Said) -> list[Any]:
    prompt = said.prompt
    reference = prompt.reference.sha256 if prompt.reference else None
    asked = [prompt.text, prompt.lyrics, reference]
    return [asked, [sound.sha256 for sound in said.sounds], said.target, said.weight]
