"""Which models can be trained, on what, with which settings. Looking at this table loads no model code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Any

from scoring.metrics import registry
from scoring.metrics.entries import Option
from scoring.metrics.registry import OptionError
from scoring.training.cmi_rm_options import OPTIONS as CMI_RM
from scoring.training.contract import Train
from scoring.training.orca_options import OPTIONS as ORCA


class Learns(StrEnum):
    """What kind of votes a model learns from."""

    RATINGS = "ratings"  # of answers: Split[RatedAnswer]
    PREFERENCES = "preferences"  # between clips, and ratings of clips: MusicVotes


@dataclass(frozen=True)
class Trainable:
    """A model that can be trained. `name` is also the metric that opens what comes of it. `trains` is
    "module:function", a contract.Train."""

    name: str
    title: str
    summary: str
    learns: Learns
    trains: str
    options: tuple[Option, ...]


TRAINABLE: dict[str, Trainable] = {
    entry.name: entry
    for entry in (
        Trainable(
            name="orca",
            title="ORCA",
            summary="Reads question, reference, rationale, transcript and answer, and foretells how people rate it.",
            learns=Learns.RATINGS,
            trains="scoring.training.orca:train",
            options=ORCA,
        ),
        Trainable(
            name="cmi-rm",
            title="CMI-RM",
            summary="Hears a clip beside its prompt, lyrics and reference, and foretells which of two people prefer.",
            learns=Learns.PREFERENCES,
            trains="scoring.training.cmi_rm:train",
            options=CMI_RM,
        ),
    )
}


def trainable(name: str) -> Trainable:
    """Raises OptionError where there is none of that name."""
    if name not in TRAINABLE:
        raise OptionError("model", f"there is no model {name!r} to train; there are {', '.join(TRAINABLE)}")
    return TRAINABLE[name]


def validated(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a training, defaults filled in. Raises OptionError."""
    return registry.checked(trainable(name).options, given, of=name)


def training(name: str) -> Train:
    module, _, function = trainable(name).trains.partition(":")
    found: Train = getattr(import_module(module), function)
    return found
