"""A study to learn from, and a training with no model behind it: it remembers how often each system won."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from analytics.training import jobs
from annotation.jobs import jobs as job_runner
from annotation.models import (
    Answer,
    Candidate,
    Clip,
    Item,
    ItemVersion,
    Judgment,
    Question,
    Rater,
    Study,
    System,
    Task,
    TaskCandidate,
)
from scoring.metrics import registry
from scoring.metrics.contract import BatchLimits, Example, Metric, Outcome, Reading
from scoring.metrics.registry import MetricEntry, Option, Reads
from scoring.models import LearnedModel
from scoring.training import catalogue
from scoring.training.contract import MusicVotes, TrainedModel, TrainingError, TrainingObserver
from tests import factories

SYSTEMS = ("good", "bad", "fair", "poor")
STEPS = 4


class Stopped(BaseException):
    """As if the process had been killed."""


class Toy:
    """Trains in four steps and goes on where it was cut off. `kill_at` names the step in which it dies, once;
    `steps` are all that were made."""

    def __init__(self) -> None:
        self.kill_at: int | None = None
        self.refuse = ""
        self.steps: list[int] = []
        self.given: list[MusicVotes] = []

    def train(
        self,
        votes: Any,
        options: Mapping[str, Any],
        *,
        seed: int,
        work: Path,
        runtime: Any,
        observer: TrainingObserver,
    ) -> TrainedModel:
        if self.refuse:
            raise TrainingError("too_few", self.refuse)
        self.given.append(votes)
        work.mkdir(parents=True, exist_ok=True)
        resume = work / "resume"
        begin = int(resume.read_text()) if resume.exists() else 0
        if begin:
            observer.on_resume(begin)
        for step in range(begin, STEPS):
            observer.progress(step, STEPS, stage="Training")
            observer.log_metric("train loss", step + 1, 1 / (step + 1))
            if self.kill_at == step:
                self.kill_at = None
                raise Stopped
            self.steps.append(step)
            resume.write_text(str(step + 1))
        folder = work / "model"
        folder.mkdir(exist_ok=True)
        (folder / "sounds.json").write_text(json.dumps(self._values(votes)))
        return TrainedModel(folder, {"steps": STEPS})

    def _values(self, votes: MusicVotes) -> dict[str, float]:
        """Longer is better: something that holds of clips nobody has voted on."""
        return {"seconds": 1.0 if votes.pairs.train else 0.0}


class Longer:
    """The metric that opens it: the longer, the better."""

    limits = BatchLimits(examples=8, seconds=1000.0)

    def __init__(self, folder: Path) -> None:
        self.weight = json.loads((folder / "sounds.json").read_text())["seconds"]
        self.identity: Mapping[str, Any] = {"toy": self.weight}

    def prepare(self, examples: Sequence[Example]) -> None:
        pass

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        return [
            Outcome(
                one.key,
                {head: Reading(self.weight * one.sounds[0].seconds) for head in ("alignment", "musicality")},
            )
            for one in examples
        ]


def open_longer(options: Mapping[str, Any], runtime: registry.Runtime) -> Metric:
    return Longer(Path(runtime.checkpoints or "") / options["checkpoint"])


ENTRY = MetricEntry(
    name="cmi-rm",
    title="Toy",
    summary="The longer, the better.",
    reads=Reads.SINGLE,
    opens=f"{__name__}:open_longer",
    options=(Option("checkpoint", "text", "A folder.", required=True),),
    reads_text=False,
)


def register(monkeypatch: pytest.MonkeyPatch) -> Toy:
    toy = Toy()
    monkeypatch.setitem(registry.METRICS, "cmi-rm", ENTRY)
    monkeypatch.setattr(catalogue, "training_recipe", lambda kind: toy.train)
    return toy


def trained(study: Study, *, start_from: str = "", **plan: Any) -> LearnedModel:
    """The next version of the study's model of music, once a worker has trained it."""
    model = jobs.start_training(study, "cmi-rm", {"start_from": start_from}, actor=None, **plan)
    job_runner.run(model.job_id)
    return LearnedModel.objects.select_related("job", "scorer", "study").get(pk=model.pk)


def music(prompts: int = 12, *, raters: int = 6, prompt: str = "prompt {}", slug: str = "") -> Study:
    """Pairs of a longer and a shorter clip, a pair for each prompt; nearly everybody prefers the longer."""
    study = factories.StudyFactory(preset="cmi-pref", **({"slug": slug} if slug else {}))
    people = Rater.objects.bulk_create(
        Rater(study=study, pseudonym=f"R-{number}", origin=Rater.Origin.SIMULATED) for number in range(raters)
    )
    items = Item.objects.bulk_create(
        Item(study=study, external_id=f"item-{number}") for number in range(prompts)
    )
    versions = ItemVersion.objects.bulk_create(
        ItemVersion(item=item, prompt=prompt.format(number), content_sha256="0" * 64)
        for number, item in enumerate(items)
    )
    for item, version in zip(items, versions, strict=True):
        item.current_version = version
    Item.objects.bulk_update(items, ["current_version"])
    # By each item's number the better system and the worse: places in SYSTEMS.
    pairs = [(number % 4, (number + 1) % 4) for number in range(prompts)]
    systems = System.objects.bulk_create(System(study=study, name=name) for name in SYSTEMS[: prompts + 1])
    clips = Clip.objects.bulk_create(
        factories.new_clip(f"{study.slug}-item-{number}-{SYSTEMS[system]}", seconds=seconds)
        for number, pair in enumerate(pairs)
        for system, seconds in zip(pair, (20.0, 10.0), strict=True)
    )
    candidates = Candidate.objects.bulk_create(
        Candidate(item_version=versions[n // 2], system=systems[pairs[n // 2][n % 2]], clip=clip)
        for n, clip in enumerate(clips)
    )
    tasks = Task.objects.bulk_create(
        Task(
            study=study,
            item_version=version,
            external_id=version.item.external_id,
            overlap=raters + 1,
            shuffle_key=0.5,
        )
        for version in versions
    )
    # The longer of each pair is in the first slot of every other task.
    TaskCandidate.objects.bulk_create(
        TaskCandidate(
            task=task, slot=slot, candidate=candidates[2 * number + (slot if number % 2 else 1 - slot)]
        )
        for number, task in enumerate(tasks)
        for slot in (0, 1)
    )
    choices = [1 if number % 2 else 2 for number in range(prompts)]
    _vote(study, list(zip(tasks, choices, strict=True)), people)
    return study


def _vote(study: Study, tasks: Sequence[tuple[Task, int]], people: Sequence[Rater]) -> None:
    """All but the first rater are for the longer clip of each task, which is named by its choice."""
    version = study.protocol_version
    question = Question.objects.get(protocol_version=version, key="musicality")
    asked = [
        (task, rater, longer if place else 3 - longer)
        for task, longer in tasks
        for place, rater in enumerate(people)
    ]
    judgments = Judgment.objects.bulk_create(
        Judgment(
            study=study, task=task, rater=rater, protocol_version=version, payload_sha256=b"",
            origin=Judgment.Origin.IMPORTED, effective=True,
        )
        for task, rater, _ in asked
    )  # fmt: skip
    Answer.objects.bulk_create(
        Answer(judgment=judgment, task=task, question=question, choice=choice, confidence=3.0, counted=True)
        for judgment, (task, _, choice) in zip(judgments, asked, strict=True)
    )
