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

from annotation.importing.formats import audio_folder, csv_files, json_files, parquet_files, source_files
from annotation.importing.formats.audio_folder import SPLITS, Rows
from annotation.importing.formats.source_files import yaml_text
from annotation.importing.records import DefaultText, RowProblem
from annotation.protocols import Protocol

# The kinds of files that hold rows; where a folder has several kinds, the one it has most of, or the first here.
ROW_READERS: dict[str, Callable[[Path], Rows]] = {
    ".parquet": parquet_files.parquet_rows,
    ".jsonl": json_files.json_lines,
    ".json": json_files.json_rows,
    ".csv": csv_files.csv_rows,
    ".tsv": csv_files.tsv_rows,
}
METADATA_FILES = {
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
    "croissant.json",
}
SAVE_TO_DISK_FILES = {"dataset_dict.json", "state.json"}
MAX_README_BYTES = 1_000_000
FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)
SPLIT_IN_NAME = re.compile(rf"(?:^|[-._ /])({'|'.join(SPLITS)})(?:[-._ /]|$)", re.IGNORECASE)
LIST_FILES = "List files of the folder under `data_files`, such as data/train-*.parquet."


@dataclass(frozen=True)
class _DataFile:
    """One file of rows and the split that it belongs to, if any."""

    path: Path
    split: str


def hugging_face_rows(source: Path, protocol: Protocol | None = None) -> Rows:
    parts = _data_files(source)
    return audio_folder.audio_folder_rows(source, protocol) if parts is None else _rows(source, parts)


def lists_data_files(folder: Path) -> bool:
    """Whether README.md lists a data set's files."""
    stated = _front_matter(folder)
    return isinstance(stated, dict) and isinstance(stated.get("configs"), list)


def names_every_split(folder: Path) -> bool:
    """Whether every file of rows is named for the split that it holds."""
    parts = _data_files_by_name(folder) or []
    return bool(parts) and all(isinstance(part, _DataFile) and part.split for part in parts)


def unread_configurations(folder: Path) -> list[str]:
    """The configurations that README.md lists besides the one that is read."""
    stated = _front_matter(folder)
    configs = stated.get("configs") if isinstance(stated, dict) else None
    named = [config for config in configs if isinstance(config, dict)] if isinstance(configs, list) else []
    return [
        yaml_text(config.get("config_name"))
        for config in named
        if config is not _default_configuration(named)
    ]


def _rows(folder: Path, parts: list[_DataFile | RowProblem]) -> Rows:
    root, counted = audio_folder.source_folder(folder).resolve(), Counter[str]()
    for part in parts:
        if isinstance(part, RowProblem):
            yield part
            continue
        name = str(part.path.relative_to(root))
        for entry in ROW_READERS[part.path.suffix.lower()](part.path):
            if isinstance(entry, RowProblem):
                yield entry.at(name)
                continue
            counted[part.split] += 1
            values = {column: _audio_path(value) for column, value in entry[1].items()}
            defaults: dict[str, Any] = {}
            if "item_id" not in values:
                defaults["item_id"] = DefaultText(f"{part.split or 'row'}-{counted[part.split]}")
            if part.split and "split" not in values:
                defaults["stratum.split"] = DefaultText(part.split)
            yield f"{name} {entry[0]}" if len(parts) > 1 else entry[0], {**defaults, **values}


def _audio_path(value: Any) -> Any:
    """Rows of JSON may name a sound as an object of its path and nothing else."""
    if isinstance(value, dict) and isinstance(value.get("path"), str) and not value.get("bytes"):
        return value["path"]
    return value


def _data_files(folder: Path) -> list[_DataFile | RowProblem] | None:
    """The files that hold the rows, split after split; None where the folder is one of sounds."""
    if folder.is_file() and folder.suffix.lower() in ROW_READERS:
        return [_DataFile(folder.resolve(), "")]
    stated = _front_matter(folder)
    if isinstance(stated, RowProblem):
        return [stated]
    configs = stated.get("configs")
    if (
        named := [config for config in configs if isinstance(config, dict)]
        if isinstance(configs, list)
        else []
    ):
        return _data_files_of_readme(folder, named)
    return _data_files_by_name(folder)


def _data_files_by_name(folder: Path) -> list[_DataFile | RowProblem] | None:
    paths = [path for path in source_files.walk_files(folder) if isinstance(path, Path)]
    if any(path.name.lower() in audio_folder.METADATA_READERS for path in paths):
        return None
    if any(path.suffix == ".arrow" for path in paths) and any(
        path.name in SAVE_TO_DISK_FILES for path in paths
    ):
        remedy = 'Load it with load_from_disk and write each split with to_parquet("train.parquet").'
        return [RowProblem("", "", "was written by save_to_disk", remedy)]
    data = [
        path
        for path in paths
        if path.suffix.lower() in ROW_READERS and path.name.lower() not in METADATA_FILES
    ]
    if not data:
        return None
    usual = Counter(path.suffix.lower() for path in data)
    kind = max(ROW_READERS, key=lambda suffix: usual[suffix])
    parts = [_DataFile(path, _split_in(path, folder)) for path in data if path.suffix.lower() == kind]
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
        head = file.read(MAX_README_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    if not (match := FRONT_MATTER.match(head)):
        return {}
    try:
        stated = source_files.load_yaml(match[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return RowProblem("README.md", "", f"its first lines are not YAML ({reason})", "Mend or remove them.")
    return stated if isinstance(stated, dict) else {}


def _data_files_of_readme(folder: Path, configs: list[dict[str, Any]]) -> list[_DataFile | RowProblem] | None:
    chosen = _default_configuration(configs)
    below = _folder_below(folder, yaml_text(chosen.get("data_dir")))
    if below is None:
        problem = f"{yaml_text(chosen.get('data_dir'))} is no folder in this one"
        return [RowProblem("README.md", "data_dir", problem, "Mend the path.")]
    if not chosen.get("data_files"):
        return _data_files_by_name(below)
    parts: list[_DataFile | RowProblem] = []
    for split, pattern in _patterns(chosen["data_files"]):
        parts += _matching(below, pattern, split)
    if any(isinstance(part, _DataFile) and source_files.is_audio_file(part.path) for part in parts):
        return None
    return parts


def _folder_below(folder: Path, name: str) -> Path | None:
    below = folder / name
    try:
        inside = below.resolve().is_relative_to(folder.resolve()) and below.is_dir()
    except (OSError, RuntimeError, ValueError):  # a name that no disk takes, links that lead in a circle
        return None
    return below if inside else None


def _default_configuration(configs: list[dict[str, Any]]) -> dict[str, Any]:
    marked = [config for config in configs if config.get("default")]
    return [*marked, *(config for config in configs if config.get("config_name") == "default"), *configs][0]


def _patterns(data_files: Any) -> Iterator[tuple[str, str]]:
    """Split and pattern, in each of the ways that `data_files` can be written."""
    if isinstance(data_files, dict):
        data_files = [{"split": split, "path": path} for split, path in data_files.items()]
    for entry in data_files if isinstance(data_files, list) else [data_files]:
        entry_values = entry if isinstance(entry, dict) else {"split": "train", "path": entry}
        paths = entry_values.get("path")
        for path in paths if isinstance(paths, list) else [paths]:
            yield yaml_text(entry_values.get("split")) or "train", yaml_text(path)


def _matching(folder: Path, pattern: str, split: str) -> list[_DataFile | RowProblem]:
    parts = PurePosixPath(pattern).parts
    if "://" in pattern or not parts or ".." in parts or pattern.startswith("/"):
        return [
            RowProblem("README.md", "data_files", f"{pattern} is not a path below the folder", LIST_FILES)
        ]
    root = folder.resolve()
    try:
        paths = sorted(path.resolve() for path in root.glob(pattern) if path.is_file())
    except (OSError, RuntimeError, ValueError):  # no pattern, or one that no name can fit
        paths = []
    if not paths:
        return [RowProblem("README.md", "data_files", f"no file is called {pattern}", LIST_FILES)]
    return [_data_file(path, root, split) for path in paths]


def _data_file(path: Path, root: Path, split: str) -> _DataFile | RowProblem:
    if not path.is_relative_to(root):
        return RowProblem("README.md", "data_files", f"{path.name} is a link to somewhere else", LIST_FILES)
    if path.suffix.lower() not in ROW_READERS and not source_files.is_audio_file(path):
        known = ", ".join(ROW_READERS)
        return RowProblem("README.md", "data_files", f"{path.name} is none of {known}", LIST_FILES)
    return _DataFile(path, split)
