"""Dataset folders as Hugging Face keeps them: the files that README.md lists, or else those that their names tell.

Of several configurations the one marked `default` is read, or the first; another is a source of its own, by its folder
or file. Sounds inside Parquet stay there until they are taken in. Folders with metadata.csv are read by `audio_folder`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from annotation.importers import (
    audio_folder,
    delimited,
    files,
    json_rows,
    parquet_rows,
    sound_files,
    yaml_values,
)
from annotation.importers.audio_folder import SPLITS
from annotation.importers.records import RowProblem, Stated
from annotation.importers.yaml_values import text
from annotation.protocols import Protocol

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]
# The kinds of files that hold rows; where a folder has several kinds, the one it has most of, or the first here.
KINDS: dict[str, Callable[[Path], Rows]] = {
    ".parquet": parquet_rows.rows,
    ".jsonl": files.json_lines,
    ".json": json_rows.rows,
    ".csv": delimited.csv_rows,
    ".tsv": delimited.tsv_rows,
}
NO_DATA = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json"}
SAVED = {"dataset_dict.json", "state.json"}
LONGEST_README = 1_000_000
FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)
SPLIT_IN_NAME = re.compile(rf"(?:^|[-._ /])({'|'.join(SPLITS)})(?:[-._ /]|$)", re.IGNORECASE)
LIST_FILES = "List files of the folder under `data_files`, such as data/train-*.parquet."


@dataclass(frozen=True)
class _Part:
    """One file of rows and the split that it belongs to, if any."""

    path: Path
    split: str


def rows(source: Path) -> Rows:
    parts = _parts(source)
    return audio_folder.rows(source) if parts is None else _rows(source, parts)


def rows_for(source: Path, protocol: Protocol) -> Rows:
    parts = _parts(source)
    return audio_folder.rows_for(source, protocol) if parts is None else _rows(source, parts)


def is_described(folder: Path) -> bool:
    """Whether README.md lists a data set's files."""
    stated = _front_matter(folder)
    return isinstance(stated, dict) and isinstance(stated.get("configs"), list)


def is_split(folder: Path) -> bool:
    """Whether every file of rows is named for the split that it holds."""
    parts = _parts_by_name(folder) or []
    return bool(parts) and all(isinstance(part, _Part) and part.split for part in parts)


def left_out(folder: Path) -> list[str]:
    """The configurations that README.md lists besides the one that is read."""
    stated = _front_matter(folder)
    configs = stated.get("configs") if isinstance(stated, dict) else None
    named = [config for config in configs if isinstance(config, dict)] if isinstance(configs, list) else []
    return [text(config.get("config_name")) for config in named if config is not _chosen(named)]


def _rows(folder: Path, parts: list[_Part | RowProblem]) -> Rows:
    root, counted = audio_folder.folder_of(folder).resolve(), Counter[str]()
    for part in parts:
        if isinstance(part, RowProblem):
            yield part
            continue
        name = str(part.path.relative_to(root))
        for entry in KINDS[part.path.suffix.lower()](part.path):
            if isinstance(entry, RowProblem):
                yield RowProblem(f"{name} {entry.row}".strip(), entry.field, entry.problem, entry.remedy)
                continue
            counted[part.split] += 1
            values = {column: _sound_of(value) for column, value in entry[1].items()}
            stated: dict[str, Any] = {}
            if "item_id" not in values:
                stated["item_id"] = Stated(f"{part.split or 'row'}-{counted[part.split]}")
            if part.split and "split" not in values:
                stated["stratum.split"] = Stated(part.split)
            yield f"{name} {entry[0]}" if len(parts) > 1 else entry[0], {**stated, **values}


def _sound_of(value: Any) -> Any:
    """Rows of JSON may name a sound as an object of its path and nothing else."""
    if isinstance(value, dict) and isinstance(value.get("path"), str) and not value.get("bytes"):
        return value["path"]
    return value


def _parts(folder: Path) -> list[_Part | RowProblem] | None:
    """The files that hold the rows, split after split; None where the folder is one of sounds."""
    if folder.is_file() and folder.suffix.lower() in KINDS:
        return [_Part(folder.resolve(), "")]
    stated = _front_matter(folder)
    if isinstance(stated, RowProblem):
        return [stated]
    configs = stated.get("configs")
    if (
        named := [config for config in configs if isinstance(config, dict)]
        if isinstance(configs, list)
        else []
    ):
        return _stated_parts(folder, named)
    return _parts_by_name(folder)


def _parts_by_name(folder: Path) -> list[_Part | RowProblem] | None:
    found = [path for path in sound_files.walk(folder) if isinstance(path, Path)]
    if any(path.name.lower() in audio_folder.METADATA for path in found):
        return None
    if any(path.suffix == ".arrow" for path in found) and any(path.name in SAVED for path in found):
        remedy = 'Load it with load_from_disk and write each split with to_parquet("train.parquet").'
        return [RowProblem("", "", "was written by save_to_disk", remedy)]
    data = [path for path in found if path.suffix.lower() in KINDS and path.name.lower() not in NO_DATA]
    if not data:
        return None
    usual = Counter(path.suffix.lower() for path in data)
    kind = max(KINDS, key=lambda suffix: usual[suffix])
    parts = [_Part(path, _split_in(path, folder)) for path in data if path.suffix.lower() == kind]
    order = ["", *dict.fromkeys(SPLITS.values())]
    return [*sorted(parts, key=lambda part: (order.index(part.split), str(part.path)))]


def _split_in(path: Path, folder: Path) -> str:
    """The last word for a split in a file's path: train-00000-of-00002.parquet, data/test/a.jsonl."""
    below = path.relative_to(folder.resolve()).with_suffix("").as_posix()
    words = SPLIT_IN_NAME.findall(below.replace("/", "//"))
    return SPLITS[words[-1].lower()] if words else ""


def _front_matter(folder: Path) -> dict[str, Any] | RowProblem:
    readme = folder / "README.md"
    if not readme.is_file():
        return {}
    with readme.open("rb") as file:
        head = file.read(LONGEST_README).decode("utf-8", "replace").replace("\r\n", "\n")
    if not (match := FRONT_MATTER.match(head)):
        return {}
    try:
        stated = yaml_values.load(match[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        return RowProblem("README.md", "", f"its first lines are not YAML ({said})", "Mend or remove them.")
    return stated if isinstance(stated, dict) else {}


def _stated_parts(folder: Path, configs: list[dict[str, Any]]) -> list[_Part | RowProblem] | None:
    chosen = _chosen(configs)
    below = _folder_below(folder, text(chosen.get("data_dir")))
    if below is None:
        problem = f"{text(chosen.get('data_dir'))} is no folder in this one"
        return [RowProblem("README.md", "data_dir", problem, "Mend the path.")]
    if not chosen.get("data_files"):
        return _parts_by_name(below)
    parts: list[_Part | RowProblem] = []
    for split, pattern in _patterns(chosen["data_files"]):
        parts += _matching(below, pattern, split)
    if any(isinstance(part, _Part) and sound_files.is_sound(part.path) for part in parts):
        return None
    return parts


def _folder_below(folder: Path, name: str) -> Path | None:
    below = folder / name
    try:
        inside = below.resolve().is_relative_to(folder.resolve()) and below.is_dir()
    except (OSError, RuntimeError, ValueError):  # a name that no disk takes, links that lead in a circle
        return None
    return below if inside else None


def _chosen(configs: list[dict[str, Any]]) -> dict[str, Any]:
    marked = [config for config in configs if config.get("default")]
    return [*marked, *(config for config in configs if config.get("config_name") == "default"), *configs][0]


def _patterns(data_files: Any) -> Iterator[tuple[str, str]]:
    """Split and pattern, in each of the ways that `data_files` can be written."""
    if isinstance(data_files, dict):
        data_files = [{"split": split, "path": path} for split, path in data_files.items()]
    for entry in data_files if isinstance(data_files, list) else [data_files]:
        stated = entry if isinstance(entry, dict) else {"split": "train", "path": entry}
        paths = stated.get("path")
        for path in paths if isinstance(paths, list) else [paths]:
            yield text(stated.get("split")) or "train", text(path)


def _matching(folder: Path, pattern: str, split: str) -> list[_Part | RowProblem]:
    parts = PurePosixPath(pattern).parts
    if "://" in pattern or not parts or ".." in parts or pattern.startswith("/"):
        return [
            RowProblem("README.md", "data_files", f"{pattern} is not a path below the folder", LIST_FILES)
        ]
    root = folder.resolve()
    try:
        found = sorted(path.resolve() for path in root.glob(pattern) if path.is_file())
    except (OSError, RuntimeError, ValueError):  # no pattern, or one that no name can fit
        found = []
    if not found:
        return [RowProblem("README.md", "data_files", f"no file is called {pattern}", LIST_FILES)]
    return [_part(path, root, split) for path in found]


def _part(path: Path, root: Path, split: str) -> _Part | RowProblem:
    if not path.is_relative_to(root):
        return RowProblem("README.md", "data_files", f"{path.name} is a link to somewhere else", LIST_FILES)
    if path.suffix.lower() not in KINDS and not sound_files.is_sound(path):
        known = ", ".join(KINDS)
        return RowProblem("README.md", "data_files", f"{path.name} is none of {known}", LIST_FILES)
    return _Part(path, split)
