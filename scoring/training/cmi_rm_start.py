"""What a CMI-RM training begins with: weights drawn at random, or a trained model's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.backbones.music_encoders import BUILT_IN, MusicEncoder, open_encoder
from scoring.metrics.cmi_rm import open_checkpoint
from scoring.metrics.cmi_rm_checkpoint import Checkpoint, Recipe
from scoring.metrics.cmi_rm_inputs import Feeding
from scoring.metrics.cmi_rm_model import CmiRm, Shape
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Workplace
from scoring.training.contract import TrainingError

PUBLISHED: Mapping[str, Any] = {
    "width": 768,
    "prompt_depth": 4,
    "joint_depth": 1,
    "learning_rate": 1e-4,
    "weight_decay": 0.01,
    "dropout": 0.0,
    "first_steps": 2000,
    "steps": 1000,
    "validate_every": 50,
}
# Chosen on the demo's prompts: a few dozen pairs, features that are already about music.
SMALL: Mapping[str, Any] = {
    "width": 96,
    "prompt_depth": 1,
    "joint_depth": 1,
    "learning_rate": 1e-3,
    "weight_decay": 0.1,
    "dropout": 0.2,
    "first_steps": 100,
    "steps": 150,
    "validate_every": 10,
}


@dataclass(frozen=True)
class Start:
    """`sha256` is of the weights that the training begins with, "" where they were drawn."""

    model: CmiRm
    encoder: MusicEncoder
    recipe: Recipe
    sha256: str


def complete(options: Mapping[str, Any]) -> dict[str, Any]:
    """What the user gave; for the rest, what suits the encoder."""
    own = SMALL if options["encoder"] == BUILT_IN else PUBLISHED
    return {name: own.get(name) if value is None else value for name, value in options.items()}


def begun(options: Mapping[str, Any], workplace: Workplace) -> Start:
    """Weights that are not there yet are drawn from torch's own generator. Raises OptionError, SetupError,
    TrainingError."""
    encoder = open_encoder(options["encoder"], workplace)
    if options["start_from"]:
        return _continued(options, workplace, encoder)
    settings = complete(options)
    shape = shape_of(
        settings["width"],
        encoder_width=encoder.width,
        prompt_depth=settings["prompt_depth"],
        joint_depth=settings["joint_depth"],
    )
    recipe = Recipe(shape, options["encoder"], encoder.identity, Feeding())
    return Start(CmiRm(shape), encoder, recipe, sha256="")


def shape_of(width: int, *, encoder_width: int, prompt_depth: int, joint_depth: int) -> Shape:
    """All as much wider or narrower as `width` is than the published 768."""
    return Shape(
        encoder_width=encoder_width,
        width=width,
        head_width=width // 12,
        feed_forward=width * 8 // 3,
        prompt_depth=prompt_depth,
        joint_depth=joint_depth,
        score_width=width * 2 // 3,
    )


def _continued(options: Mapping[str, Any], workplace: Workplace, encoder: MusicEncoder) -> Start:
    try:
        found = open_checkpoint(options["start_from"], below=workplace.checkpoints)
    except SetupError as error:
        raise TrainingError("bad_checkpoint", f"start_from: {error}") from error
    _check_encoder(found, options, encoder)
    _check_shape(found, options)
    recipe = Recipe(found.recipe.shape, options["encoder"], encoder.identity, found.recipe.feeding)
    return Start(found.model.requires_grad_(True), encoder, recipe, found.sha256)


def _check_encoder(found: Checkpoint, options: Mapping[str, Any], encoder: MusicEncoder) -> None:
    recipe = found.recipe
    said = recipe.encoder_identity
    same = said is None or said == json.loads(json.dumps(encoder.identity))
    if recipe.shape.encoder_width == encoder.width and same:
        return
    raise TrainingError(
        "bad_checkpoint",
        f"start_from: {options['start_from']} was trained on features {recipe.shape.encoder_width} wide of "
        f"{recipe.encoder}, and {options['encoder']} gives other ones, {encoder.width} wide. Set encoder to "
        f"{recipe.encoder}, or start from a model of this encoder.",
    )


def _check_shape(found: Checkpoint, options: Mapping[str, Any]) -> None:
    shape = found.recipe.shape
    wrong = [
        f"{name} is {getattr(shape, name)} there and {options[name]} here"
        for name in ("width", "prompt_depth", "joint_depth")
        if options[name] not in (None, getattr(shape, name))
    ]
    if wrong:
        raise TrainingError(
            "bad_checkpoint",
            f"start_from: {options['start_from']} has another shape: {', '.join(wrong)}. Leave these settings empty, "
            "or train from the beginning.",
        )
