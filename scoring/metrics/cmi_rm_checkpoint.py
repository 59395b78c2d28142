"""CMI-RM on disk: a folder with config.json and model.safetensors, or the released layout with config.yaml."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from scoring.metrics.cmi_rm_inputs import Absent, Feeding, Reduction
from scoring.metrics.cmi_rm_model import CmiRm, Shape
from scoring.metrics.contract import SetupError

CONFIG, WEIGHTS = "config.json", "model.safetensors"
_KIND, _FORMAT = "cmi-rm", 1
_REMEDY = "Put the configuration that the weights were written with beside them, or copy the model again."


@dataclass(frozen=True)
class Recipe:
    """All of a model but its weights. `encoder` is a name as `open_encoder` takes it and `encoder_identity` what that
    encoder said of itself in training, None where nobody kept it."""

    shape: Shape
    encoder: str
    encoder_identity: Mapping[str, Any] | None
    feeding: Feeding


@dataclass(frozen=True)
class Checkpoint:
    """A model in memory, on the CPU, for inference. `sha256` is of the file of its weights."""

    model: CmiRm
    recipe: Recipe
    sha256: str


def save(folder: Path, model: CmiRm, recipe: Recipe) -> None:
    """Into a folder that is made where it is not there. The same model gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_file(weights, folder / WEIGHTS)
    config = {
        "kind": _KIND,
        "format": _FORMAT,
        "encoder": recipe.encoder,
        "encoder_identity": recipe.encoder_identity,
        "shape": asdict(recipe.shape),
        "absent": recipe.feeding.absent.value,
        "reduction": asdict(recipe.feeding.reduction),
    }
    text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def load(folder: Path) -> Checkpoint:
    """A folder as `save` leaves it. Raises SetupError where it is not whole."""
    recipe = _recipe(folder / CONFIG)
    weights, sha256 = read_weights(folder / WEIGHTS)
    return Checkpoint(filled(recipe.shape, weights, source=folder / WEIGHTS), recipe, sha256)


def read_weights(file: Path) -> tuple[dict[str, torch.Tensor], str]:
    """Tensors by name, and the file's digest. Raises SetupError."""
    try:
        with file.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return load_file(file), digest
    except (OSError, SafetensorError) as error:
        raise SetupError(
            f"{file} cannot be read ({error}). Copy the whole folder of the model again, or train it again."
        ) from error


def filled(
    shape: Shape,
    weights: Mapping[str, torch.Tensor],
    *,
    source: Path,
    called: Callable[[str, Shape], str] = lambda name, _: name,
) -> CmiRm:
    """A model of this shape with these weights, for inference; `called` says what `source` calls one of ours. Raises
    SetupError where they do not fit."""
    model = CmiRm(shape)
    names = {name: called(name, shape) for name in model.state_dict()}
    _check_names(set(weights), set(names.values()), source=source)
    found = {name: weights[theirs].float() for name, theirs in names.items()}
    _check_shapes(found, model.state_dict(), names, source=source)
    if broken := [names[name] for name, tensor in found.items() if not tensor.isfinite().all()]:
        raise SetupError(
            f"{source} holds what is no number in {broken[0]}. Train again, at a lower learning rate."
        )
    model.load_state_dict(found)
    return model.eval().requires_grad_(False)


def _check_names(there: set[str], wanted: set[str], *, source: Path) -> None:
    missing, unknown = sorted(wanted - there), sorted(there - wanted)
    said = [
        f"{word} {len(names)} weights, {', '.join(names[:3])}{' and more' if len(names) > 3 else ''}"
        for word, names in (("lacks", missing), ("has no use for", unknown))
        if names
    ]
    if said:
        raise SetupError(
            f"{source} is no whole CMI-RM of its configuration: it {'; it '.join(said)}. {_REMEDY}"
        )


def _check_shapes(
    found: Mapping[str, torch.Tensor],
    wanted: Mapping[str, torch.Tensor],
    names: Mapping[str, str],
    *,
    source: Path,
) -> None:
    if wrong := [name for name, tensor in wanted.items() if tensor.shape != found[name].shape]:
        first = wrong[0]
        raise SetupError(
            f"{len(wrong)} weights of {source} have another shape than the others and its configuration say: "
            f"{names[first]} is {list(found[first].shape)} and should be {list(wanted[first].shape)}. {_REMEDY}"
        )


def _recipe(file: Path) -> Recipe:
    config = _config(file)
    try:
        return Recipe(
            shape=_shape(config["shape"]),
            encoder=str(config["encoder"]),
            encoder_identity=config["encoder_identity"],
            feeding=Feeding(Absent(config["absent"]), _reduction(config["reduction"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SetupError(
            f"{file} is not what it was when the model was saved ({type(error).__name__}: {error}). Copy the whole "
            "folder of the model again."
        ) from error


def _shape(given: Mapping[str, Any]) -> Shape:
    """Raises ValueError where a size is none, TypeError where one is unknown or left out."""
    shape = Shape(**given)
    if len(given) != len(fields(Shape)):
        raise TypeError("a size is missing")
    for name, size in given.items():
        if name == "joint" and size not in ("self", "cross"):
            raise ValueError(f"joint is {size!r}")
        if name != "joint" and (type(size) is not int or size < (0 if name.endswith("depth") else 1)):
            raise ValueError(f"{name} is {size!r}")
    return shape


def _reduction(given: Mapping[str, Any]) -> Reduction:
    for name, factor in given.items():
        if type(factor) is not int or factor < 1:
            raise ValueError(f"{name} is {factor!r}")
    return Reduction(**given)


def _config(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{file} cannot be read ({error}). Copy the whole folder of the model again."
        ) from error
    if not isinstance(config, dict) or config.get("kind") != _KIND:
        raise SetupError(
            f"{file} is not of a CMI-RM. Give the folder that a training left, or that of the released model, which "
            "has a config.yaml."
        )
    if config.get("format") != _FORMAT:
        raise SetupError(
            f"{file} is of format {config.get('format')!r}, and this version of Concord reads {_FORMAT}."
        )
    return config
