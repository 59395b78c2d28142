"""Training a model on a study's votes: the job's work, and what is kept of it.

A training may be repeated on other splits to tell how much its figures vary; the first is the version that is kept.
Everything that a killed worker leaves is taken up by the next: trainings by their own files, repeats by their results.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from django.db import transaction

from analytics.services import training_figures, training_record, training_stages
from analytics.services.training_ancestors import ancestors, refuse_leaks
from analytics.services.training_material import Material, Parts, n_splits
from analytics.services.training_material import material as material_of
from analytics.services.training_material import parts as parts_of
from analytics.services.training_memory import PeakMemory
from analytics.services.training_predictions import opened, predicted
from analytics.services.training_watch import StoredWatch
from annotation.models import Job
from annotation.services.jobs import Cancelled, Failure, Running
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import OptionError
from scoring.models import LearnedModel, Score
from scoring.services import learned, writing_opened
from scoring.services import opened as opened_scorers
from scoring.services.opened import scorer_of
from scoring.services.results import plain
from scoring.training.contract import TrainingError

_TOO_LARGE = (
    "The training does not fit into the memory of the device. Choose a smaller batch, a smaller encoder, or leave out "
    "long texts (longest); or train on a larger device."
)
_GIVEN_UP = (Job.State.CANCELLED, Job.State.FAILED)


def run(running: Running) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    model = LearnedModel.objects.select_related("study").get(job=running.job)
    place = learned.place(model)
    work = place.with_name(f"{place.name}.work")
    try:
        for given_up in LearnedModel.objects.filter(job__state__in=_GIVEN_UP, scorer=None).exclude(folder=""):
            _remove(given_up)
        writing_opened.close()  # what the worker has open; the memory is needed for the training
        opened_scorers.close()
        with PeakMemory() as peak:
            figures = _Training(running, model, work, peak).run()
    except (TrainingError, SetupError, OptionError) as error:
        _remove(model)
        raise Failure(str(error)) from error
    except OSError as error:
        _remove(model)
        raise Failure(f"The model's files cannot be kept in {work.parent}: {error}") from error
    except (MemoryError, torch.OutOfMemoryError) as error:
        _remove(model)
        raise Failure(_TOO_LARGE) from error
    except Cancelled:
        _remove(model)
        raise
    shutil.rmtree(work, ignore_errors=True)
    return figures


def _remove(model: LearnedModel) -> None:
    """All that a training has left, where nothing is to be kept of it. One that was cancelled or failed while no worker
    was at it is removed with the next training."""
    place = learned.place(model)
    for folder in (place, place.with_name(f"{place.name}.work"), place.with_name(f"{place.name}.new")):
        shutil.rmtree(folder, ignore_errors=True)


class _Training:
    """One version's training in the hands of one worker."""

    def __init__(self, running: Running, model: LearnedModel, work: Path, peak: PeakMemory) -> None:
        self.running, self.model, self.work, self.peak = running, model, work, peak
        self.began = time.monotonic()

    def run(self) -> dict[str, Any]:
        self.work.mkdir(parents=True, exist_ok=True)
        plan = self.model.plan
        material = material_of(
            self.model.study,
            self.model.kind,
            question=plan.get("question", ""),
            pseudo=plan.get("pseudo", ()),
        )
        release = training_record.release_with(self.model.study)
        number = n_splits(material, self.model.plan)
        first = parts_of(material, self.model.plan, seed=0)
        began = ancestors(self.model)
        if began:
            each = [parts_of(material, self.model.plan, seed=seed).test for seed in range(number)]
            held_out = training_record.held_out(self.model, material, first)
            refuse_leaks(self.model, began, held_out=held_out, tested=[one for part in each for one in part])
        opened_scorers.close()  # telling what it begins with may have opened it
        repeats = [self._repeat(material, seed, of=number) for seed in range(number)]
        told = {"release": release, "ancestors": [one.named(self.model) for one in began]}
        return self._keep(material, first, repeats, told)

    def _repeat(self, material: Material, seed: int, *, of: int) -> dict[str, Any]:
        """One training and its figures; from what is on disk where a worker before this one had come to its end, unless
        votes came in meanwhile."""
        parts = parts_of(material, self.model.plan, seed=seed)
        folder = self.work / f"repeat-{seed}"
        _begin(folder, parts.sha256())
        done = folder / "result.json"
        if done.exists():
            result: dict[str, Any] = json.loads(done.read_text())
            return result
        watch = StoredWatch(self.running, self.model, folder / "curves.jsonl", number=seed, of=of)
        began = time.monotonic()
        trained = training_stages.trained(
            self.model.kind, parts, self.model.options, seed=seed, work=folder, watch=watch
        )
        seconds = time.monotonic() - began
        watch.keep()
        said = predicted(
            opened(self.model.kind, trained.folder),
            parts.test,
            progress=lambda done, total: watch.progress(done, total, stage="Held-out votes"),
        )
        result = {
            "seed": seed,
            "counts": parts.counts,
            "seconds": seconds,
            "trained": dict(trained.record),
            **training_figures.figures(self.model.kind, parts, said),
        }
        result = plain(result)
        _write(done, json.dumps(result))
        return result

    def _keep(
        self, material: Material, first: Parts, repeats: list[dict[str, Any]], told: dict[str, Any]
    ) -> dict[str, Any]:
        """Move the first repeat's model to its place, and store what it says of what it has not learned from. `told`:
        what of its record was known before."""
        place = learned.place(self.model)
        _replace(place, self.work / "repeat-0" / "model")
        metric = opened(self.model.kind, place)
        said = predicted(metric, first.test)
        record = training_record.record(
            self.model, material, first, repeats,
            seconds=time.monotonic() - self.began,
            peak_memory_mb=self.peak.mb,
            gpu_peak_memory_mb=self.peak.gpu_mb,
            **told,
        )  # fmt: skip
        with transaction.atomic():
            self.running.confirm()
            scorer = scorer_of(self.model.kind, metric.identity)
            Score.objects.bulk_create(
                [
                    Score(
                        scorer=scorer, candidate_id=candidate, output=output, value=float(reading.value),
                        distribution=plain(reading.distribution),
                        provenance=plain(reading.provenance),
                    )
                    for candidate in sorted(said)
                    for output, reading in sorted(said[candidate].items())
                ],
                ignore_conflicts=True,
            )  # fmt: skip
            LearnedModel.objects.filter(pk=self.model.pk).update(record=record, scorer=scorer)
        return {"figures": record["figures"]}


def _begin(folder: Path, data: str) -> None:
    """Leave in the folder only what was made from these data."""
    made_from = folder / "data.sha256"
    if made_from.exists() and made_from.read_text() == data:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _write(made_from, data)


def _replace(place: Path, made: Path) -> None:
    """Put a copy of a folder in its place, whole or not at all."""
    beside = place.with_name(f"{place.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    shutil.copytree(made, beside)
    shutil.rmtree(place, ignore_errors=True)
    os.replace(beside, place)


def _write(path: Path, text: str) -> None:
    beside = path.with_suffix(".new")
    beside.write_text(text)
    os.replace(beside, path)
