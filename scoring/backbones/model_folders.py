"""Folders of models that are not transformers' own: trained here, or published in a layout of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scoring.backbones import checkpoints
from scoring.metrics.contract import SetupError


def folder_of(name: str, *, below: Path | None, files: Sequence[str]) -> Path:
    """The folder that `name` means: a path, a name below the folder of checkpoints, or a model on the hub, of which
    only `files` (patterns) are downloaded. Raises SetupError."""
    given = Path(name).expanduser()
    places = [given] if given.is_absolute() or below is None else [below / given, given]
    for place in places:
        if place.is_dir():
            return place.resolve()
    if checkpoints.is_hub_name(name):
        owner, repository, *inner = name.split("/")
        return checkpoints.from_hub(f"{owner}/{repository}", wanted=files).joinpath(*inner)
    looked = f" nor below {below}" if below is not None and not given.is_absolute() else ""
    raise SetupError(
        f"There is no folder {name}{looked}. Give the folder of a trained model, or the name of one on the hub, as "
        "owner/name."
    )
