"""A training's curves and progress, kept in its rows while it goes on."""

from __future__ import annotations

import json
import time
from pathlib import Path

from annotation.services.jobs import Running
from scoring.models import LearnedModel

# A job's progress in parts of one training, so that a page can say how far several of them are.
PARTS = 1000
_EVERY_SECONDS = 1.0


class StoredWatch:
    """The watch of one of `of` trainings. Curves are kept of the first: that is the version's own. They are written to
    `file` point by point, so that a killed worker's are whole, and to the version's row every second or so.

    Every call may raise what `Running.progress` raises: the job was cancelled, taken over, or its worker is to end.
    """

    def __init__(self, running: Running, model: LearnedModel, file: Path, *, number: int, of: int) -> None:
        self._running, self._model, self._file, self._number, self._of = running, model, file, number, of
        self.curves = _read(file)
        self._kept_at = time.monotonic()
        self._changed = False

    def progress(self, done: int, total: int, *, stage: str) -> None:
        part = min(done / total, 1.0) if total else 0.0
        self._running.progress(int((self._number + part) * PARTS), self._of * PARTS, stage=self._named(stage))
        if self._changed and time.monotonic() - self._kept_at >= _EVERY_SECONDS:
            self.keep()

    def point(self, curve: str, step: int, value: float) -> None:
        _add(self.curves, curve, step, value)
        with self._file.open("a") as file:
            file.write(json.dumps([curve, step, value]) + "\n")
        self._changed = True

    def taken_up(self, step: int) -> None:
        """Points after the step are told again."""
        self.curves = {
            name: [point for point in points if point[0] <= step] for name, points in self.curves.items()
        }
        lines = [[name, step, value] for name, points in self.curves.items() for step, value in points]
        self._file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self._changed = True

    def keep(self) -> None:
        if not self._number:
            LearnedModel.objects.filter(pk=self._model.pk).update(curves=self.curves)
        self._kept_at, self._changed = time.monotonic(), False

    def _named(self, stage: str) -> str:
        return stage if self._of == 1 else f"{stage} ({self._number + 1}/{self._of})"


def _read(file: Path) -> dict[str, list[list[float]]]:
    """What was written so far; its last line may be cut off."""
    curves: dict[str, list[list[float]]] = {}
    for line in file.read_text().splitlines(keepends=True) if file.exists() else []:
        if line.endswith("\n"):
            _add(curves, *json.loads(line))
    return curves


def _add(curves: dict[str, list[list[float]]], curve: str, step: float, value: float) -> None:
    """Instead of what was told of this step and later ones by a training that was cut off before it kept anything."""
    points = curves.setdefault(curve, [])
    while points and points[-1][0] >= step:
        points.pop()
    points.append([step, value])
