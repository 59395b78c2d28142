"""Whether a folder is what its manifest says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analytics.releases import manifest as manifests
from analytics.releases import tables
from annotation.errors import InvalidInput


def read(path: Path) -> dict[str, Any]:
    """The manifest in a file, or in a release's folder. Raises InvalidInput for what is none."""
    path = path / manifests.NAME if path.is_dir() else path
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read as a release's manifest: {error}", code="bad_manifest"
        ) from error
    if not isinstance(found, dict) or not isinstance(found.get("files"), dict) or "cut" not in found:
        raise InvalidInput(f"{path} is not the manifest of a release.", code="bad_manifest")
    return found


def faults(folder: Path) -> Iterator[str]:
    """A sentence for everything in the folder that is not what its manifest says."""
    manifest = read(folder)
    yield from _files(folder, manifest["files"])
    if manifests.root(manifest) != manifest.get("sha256"):
        yield f"{manifests.NAME}: what it says does not go with its own hash, so it was altered."


def _files(folder: Path, files: Mapping[str, Any]) -> Iterator[str]:
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    for path in sorted(there - files.keys() - {manifests.NAME}):
        yield f"{path}: does not belong to this release."
    for path, file in sorted(files.items()):
        if path not in there:
            yield f"{path}: is missing."
        elif tables.hashed(folder / path).sha256 != file["sha256"]:
            yield f"{path}: is not what was released; its bytes differ."
