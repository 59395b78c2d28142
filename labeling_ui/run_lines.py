"""Scoring runs as pages list them: the scorer's title, how far the run is and how long it still takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as look_up

from annotation.models import Study
from labeling_ui.pace import pace, time_left
from scoring.metrics import registry
from scoring.models import Scorer, ScoringRun
from scoring.services import runs
from scoring.services.runs import Progress

# A run that no worker has taken up after this long most likely has no worker.
PATIENCE = timedelta(seconds=30)
# Options that say whose weights a scorer has.
WEIGHTS = ("backbone", "checkpoint", "model")


@dataclass(frozen=True)
class RunLine:
    run: ScoringRun
    title: str
    weights: str
    progress: Progress
    pace: str
    left: str
    is_loading: bool
    waits_in_vain: bool


def run_line(run: ScoringRun) -> RunLine:
    progress = runs.progress(run)
    return RunLine(
        run=run,
        title=title_of(run.metric),
        weights=weights_of(run.options),
        progress=progress,
        pace=pace(progress.per_second),
        left=time_left(progress.seconds_left),
        is_loading=runs.is_loading(run),
        waits_in_vain=_waits_in_vain(run),
    )


def _waits_in_vain(run: ScoringRun) -> bool:
    since = runs.waiting_since(run)
    return since is not None and not runs.is_loading(run) and timezone.now() - since > PATIENCE


def run_lines(found: Iterable[ScoringRun]) -> list[RunLine]:
    return [run_line(run) for run in found]


def title_of(metric: str) -> str:
    """A scorer's title in the reader's language; its key where it is not registered any more."""
    entry = registry.METRICS.get(metric)
    return metric if entry is None else look_up(entry.title)


def weights_of(options: Mapping[str, Any]) -> str:
    return next((str(options[name]) for name in WEIGHTS if options.get(name)), "")


def chosen_settings(metric: str, options: Mapping[str, Any]) -> list[str]:
    """What tells runs of one scorer and model apart: settings that are not the default."""
    entry = registry.METRICS.get(metric)
    usual = {option.name: option.default for option in entry.options} if entry else {}
    found = {
        name: value
        for name, value in options.items()
        if name not in (*WEIGHTS, "prompts") and value != usual.get(name)
    }
    return [f"{name} {value}" for name, value in sorted(flat(found))]


@dataclass(frozen=True)
class PrescoreLine:
    metric: str
    title: str
    weights: str


def prescore_lines(study: Study) -> list[PrescoreLine]:
    """The scorers that a study's new items get by themselves, in their order."""
    return [
        PrescoreLine(each["metric"], title_of(each["metric"]), weights_of(each["options"]))
        for each in study.rules.get("prescore", [])
    ]


def settings_of(run: ScoringRun) -> list[tuple[str, str]]:
    """The settings a run was asked for with, as text. Prompts are told by their source: the version has them whole."""
    found = [pair for name, value in run.options.items() if name != "prompts" for pair in flat({name: value})]
    if prompts := run.options.get("prompts"):
        found.append(("prompts", prompts.get("source", "").strip() or "–"))
    return found


def filter_of(run: ScoringRun) -> list[tuple[str, str]]:
    """Which part of the study a run is about; empty for all of it."""
    return list(flat(run.filter))


def identity_of(scorer: Scorer) -> list[tuple[str, str]]:
    """What a scorer version was made of, as text under dotted names."""
    return list(flat(scorer.config))


def flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A table's values as text under dotted names."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{name}", ", ".join(str(part) for part in value)
        elif value is not None:
            yield f"{prefix}{name}", str(value)
