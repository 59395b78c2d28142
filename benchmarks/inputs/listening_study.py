"""Studies with sound for benchmarks: pairs of clips like generated music in length, level and compressibility."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from annotation.demo.write import write_wav
from annotation.importing import clips
from annotation.models import Candidate, Clip, Item, ItemVersion, Study, System, Task, TaskCandidate
from annotation.rating.rules import ordering
from annotation.studies import protocols

RATE = 48_000
# A rater who is a script does not listen; how much must be heard is not what is measured.
RULES = {
    "listening": dict.fromkeys(
        ("short_seconds", "short_share", "long_seconds", "long_share", "min_switches", "instruction_seconds",
         "break_minutes", "stop_minutes"),
        0,
    )
}  # fmt: skip


def make_clips(folder: Path, *, n: int, seconds: float) -> list[Clip]:
    """Stereo music-like clips, each different, taken in as an import does."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [_write(folder / f"{number}.wav", seed=number, seconds=seconds) for number in range(n)]
    taken = clips.IngestedAudio()
    clips.ingest_clips(paths, into=taken, on_progress=lambda done, of: None)
    return [taken.clips[path] for path in paths]


def make_study(slug: str, sounds: list[Clip], *, n_tasks: int) -> Study:
    """A running `music-arena` study: one key answers a task."""
    study = Study.objects.create(slug=slug, title=slug, state=Study.State.RUNNING, overlap=1, rules=RULES)
    protocols.add_protocol_version(study, preset="music-arena", actor=None)
    systems = [System.objects.create(study=study, name=name) for name in ("one", "two")]
    for number in range(n_tasks):
        item = Item.objects.create(study=study, external_id=f"{slug}-{number}")
        version = ItemVersion.objects.create(item=item, prompt=f"Prompt {number}", content_sha256="0" * 64)
        Item.objects.filter(pk=item.pk).update(current_version=version)
        task = Task.objects.create(
            study=study,
            item_version=version,
            external_id=item.external_id,
            overlap=1,
            shuffle_key=ordering.shuffle_key(study.seed, item.external_id),
        )
        for slot, system in enumerate(systems):
            clip = sounds[(2 * number + slot) % len(sounds)]
            candidate = Candidate.objects.create(item_version=version, system=system, clip=clip)
            TaskCandidate.objects.create(task=task, slot=slot, candidate=candidate)
    Study.objects.filter(pk=study.pk).update(n_items=n_tasks, n_tasks=n_tasks)
    return study


def _write(path: Path, *, seed: int, seconds: float) -> Path:
    """Chords over noise, a second at a time: such a clip takes about as many bytes as produced music."""
    rng = np.random.default_rng(seed)
    time = np.arange(RATE) / RATE
    pieces = []
    for _ in range(int(seconds)):
        chord = sum(np.sin(2 * np.pi * hertz * time) for hertz in rng.uniform(80, 2000, size=5)) / 12
        noise = rng.normal(scale=0.02, size=(2, RATE))
        pieces.append((np.clip(chord + noise, -1, 1) * 32000).T.astype(np.int16))
    write_wav(path, np.concatenate(pieces), rate=RATE)
    return path
