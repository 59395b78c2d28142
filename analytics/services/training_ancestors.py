"""Versions of a study whose weights a training begins with: what they learned from, it has learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from django.conf import settings

from analytics.services.training_material import SYSTEMS
from scoring.models import LearnedModel
from scoring.services import learned
from scoring.training.contract import TrainingError

_REMEDY = {
    "items": "Train from the beginning, or start from a model that has not learned from this study.",
    "systems": "Train from the beginning, or start from a model that has not learned from this study.",
    "raters": "Hold out no raters, or train from the beginning.",
}


def ancestors(model: LearnedModel) -> list[LearnedModel]:
    """The nearest first: what `start_from` names, what that one started from, and so on. Raises TrainingError where it
    names a folder of the study's versions that is none of them."""
    found: list[LearnedModel] = []
    while (start := _start_of([model, *found][-1], beside=found)) is not None:
        found.append(start)
    return found


def refuse_leaks(model: LearnedModel, held_out: Mapping[str, Sequence[int | str]]) -> None:
    """`held_out` as in the training record. Raises TrainingError where a training would be tested by what it began
    with has learned from."""
    of_items = "systems" if model.plan["split"] == SYSTEMS else "items"
    for start in ancestors(model):
        if model.plan["repeats"] > 1:
            raise TrainingError(
                "leak",
                f"start_from: {start} has learned from what the other splits of {model.plan['repeats']} repeats hold "
                "out. Train once, or from the beginning.",
            )
        if start.plan["split"] != model.plan["split"]:
            raise TrainingError(
                "leak",
                f"start_from: {start} held out {start.plan['split']}, and this training holds out "
                f"{model.plan['split']}. Give it the same split, or train from the beginning.",
            )
        for what in (of_items, "raters"):
            if met := set(held_out[what]) - set(start.record["held_out"].get(what, ())):
                raise TrainingError(
                    "leak",
                    f"start_from: {len(met):,} of the {len(held_out[what]):,} {what} that this training holds out were "
                    f"not held out when {start} was trained. {_REMEDY[what]}",
                )


def _start_of(model: LearnedModel, *, beside: Sequence[LearnedModel]) -> LearnedModel | None:
    name = model.options.get("start_from")
    if not name:
        return None
    root = Path(settings.SCORING_CHECKPOINTS)
    named = [place.resolve() for place in (Path(name).expanduser(), root / name)]
    known = LearnedModel.objects.filter(study=model.study_id, scorer__isnull=False)
    for one in known.exclude(pk__in=[each.pk for each in beside]):
        place = learned.place(one).resolve()
        if any(place in (folder, *folder.parents) for folder in named):
            return one
    own = learned.place(model).parent.resolve()
    if any(own in (folder, *folder.parents) and folder.exists() for folder in named):
        raise TrainingError(
            "bad_checkpoint",
            f"start_from: {name} is no version of this study that was trained to the end, and nobody can tell what it "
            "learned from. Name another, or train from the beginning.",
        )
    return None
