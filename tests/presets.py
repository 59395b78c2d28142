"""A running study of each preset, imported from its example in docs/examples."""

from __future__ import annotations

import shutil
from pathlib import Path

from annotation.models import Study, Task
from annotation.services import import_orders, imports, jobs
from tests.annotation.importers import sounds
from tests.factories import NOTHING_TO_HEAR

EXAMPLES = Path(__file__).resolve().parents[1] / "docs" / "examples"
AUDIO = ("bell-01", "talk-01", "waltz-x", "waltz-y", "song-x", "song-y", "hum")
EXAMPLE_OF = {"cmi-pref": "comparison.csv", "orca": "rating.csv"}


def example(preset: str) -> str:
    return EXAMPLE_OF.get(preset, f"{preset}.csv")


def put(folder: Path, name: str, *, seconds: float = 0.5) -> Path:
    """An example with sounds under the names that it uses, all of one length."""
    for number, sound in enumerate(AUDIO):
        sounds.tone(folder / f"{sound}.wav", hertz=300 + 40 * number, seconds=seconds)
    return Path(shutil.copy(EXAMPLES / name, folder))


def running_study(
    preset: str, folder: Path, *, overlap: int = 3, seconds: float = 0.5, **fields: object
) -> Study:
    """Its tasks come in the order of the example.

    Its raters may vote on what they have not heard; `rules={}` for the rules that a new study has.
    """
    source = put(folder, example(preset), seconds=seconds)
    new = import_orders.NewStudy(preset, preset.upper(), preset, overlap)
    job = imports.start(None, source, format="csv", actor=None, overlap=overlap, new_study=new)
    jobs.run_here(job)
    assert job.state == "done", job.report
    fields = {"state": Study.State.RUNNING, "rules": NOTHING_TO_HEAR, "order": Study.Order.LISTED, **fields}
    Study.objects.filter(slug=preset).update(**fields)
    for place, task in enumerate(Task.objects.filter(study__slug=preset).order_by("pk")):
        Task.objects.filter(pk=task.pk).update(shuffle_key=place)
    return Study.objects.get(slug=preset)
