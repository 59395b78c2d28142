"""Folders of sounds, with a table beside them or without one, and folders of a data set, as Hugging Face keeps both.

AudioFolder: in metadata.csv, .jsonl or .parquet `file_name` names a row's sound, relative to the table, and becomes its
column `audio`; `chosen_file_name` becomes `chosen`, and so on. Tables may lie in folders of their own, such as one per
split. Files without a row and rows without a file are reported. Without a table the names of the files tell the rows.

Data sets: the files that README.md lists, or else those that their names tell. Of several configurations the one marked
`default` is read, or the first; another is a source of its own, by its folder or file. Sounds inside Parquet stay there
until they are ingested. Folders with metadata.csv are AudioFolders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from annotation.importing.formats import (
    columns,
    csv_files,
    json_files,
    parquet_files,
    source_files,
    xlsx_files,
)
from annotation.importing.formats.pairing import ALL_PAIRS, Pairing, PairingError, choose_pairs
from annotation.importing.formats.source_files import yaml_text
from annotation.importing.records import MAX_TEXT_LENGTH, DefaultText, RowProblem
from annotation.protocols import Protocol

# Folders of sounds without a table: one folder per system, and in each the same item under the same name:
#
#     waltz.txt               the item's prompt; or prompts.csv with item_id, prompt and other fields of items
#     alpha/waltz.wav
#     beta/waltz.wav
#     reference/waltz.wav     where the protocol plays a reference
#
# Where clips are judged alone, each is a task. Comparisons are of every two systems; panels are of all.

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]
REFERENCE = "reference"
PROMPTS = "prompts"
# Every two of so many systems are already 1,225 comparisons of each item.
MAX_SYSTEMS_PAIRED = 50
SAME_NAMES = "Give what belongs together the same name in every system's folder."


@dataclass
class _FolderContents:
    """What the names of the files say. `items`: sounds by item, then by system ("" where there are no folders)."""

    items: dict[str, dict[str, Path]] = field(default_factory=dict)
    references: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        return sorted({system for sounds in self.items.values() for system in sounds})


def rows_by_name(folder: Path, protocol: Protocol | None, pairing: Pairing = ALL_PAIRS) -> Rows:
    """A row per task that a protocol can ask about, sounds paired by their names; a row per sound where it asks about
    one alone, or there is no protocol."""
    letters = "" if protocol is None else columns.candidate_letters(protocol)
    contents = _scan_folder(folder)
    yield from contents.problems
    if not letters:
        for item, sounds in contents.items.items():
            for system, sound in sounds.items():
                values = {**_item_values(contents, item), **({"system": system} if system else {})}
                yield str(sound.relative_to(folder.resolve())), {**values, "audio": sound}
        return
    systems, most = contents.systems, len(letters) if len(letters) > 2 else MAX_SYSTEMS_PAIRED
    if "" in systems or not 2 <= len(systems) <= most:
        what = f"{len(systems)} folders of sounds" if "" not in systems else "sounds in no system's folder"
        remedy = f"Make a folder for each of 2 to {most} systems, with the same file names in each."
        yield RowProblem("", "", f"there are {what}", remedy)
        return
    try:
        yield from _paired_rows(contents, letters, pairing)
    except PairingError as error:
        problem, _, remedy = str(error).partition(". ")
        yield RowProblem("", "system", problem, remedy)


def _paired_rows(contents: _FolderContents, letters: str, pairing: Pairing) -> Rows:
    systems = contents.systems
    chosen: Iterable[Sequence[Sequence[str]]] = ([tuple(sounds)] for sounds in contents.items.values())
    if len(letters) == 2:
        chosen = choose_pairs([sorted(sounds) for sounds in contents.items.values()], pairing)
    for (item, sounds), tasks in zip(contents.items.items(), chosen, strict=True):
        yield from _missing_systems(item, contents, systems)
        for several in tasks:
            row = _item_values(contents, item)
            for letter, system in zip(letters, several, strict=False):
                row |= {f"system_{letter}": system, f"audio_{letter}": sounds[system]}
            yield f"{item} ({', '.join(several)})", row


def _item_values(contents: _FolderContents, item: str) -> dict[str, Any]:
    reference = {"reference_audio": contents.references[item]} if item in contents.references else {}
    return {"item_id": item, **contents.texts.get(item, {}), **reference}


def _missing_systems(item: str, contents: _FolderContents, systems: list[str]) -> Iterator[RowProblem]:
    for system in systems:
        if system not in contents.items[item]:
            others = (other for other, sounds in contents.items.items() if system in sounds)
            similar = next((other for other in others if other.casefold() == item.casefold()), "")
            problem = f"has no {item}" + (f", but {similar}" if similar else "")
            yield RowProblem(item, system, problem, SAME_NAMES)


def _scan_folder(folder: Path) -> _FolderContents:
    contents, root = _FolderContents(), folder.resolve()
    texts: dict[str, Path] = {}
    for path in source_files.walk_files(folder):
        if isinstance(path, RowProblem):
            contents.problems.append(path)
            continue
        below = path.relative_to(root)
        if source_files.is_audio_file(path):
            _add_sound(contents, path, below)
        elif path.suffix.lower() == ".txt" and below.parts[:-1] in ((), (PROMPTS,)):
            texts[path.stem] = path
    for item in sorted(texts.keys() & contents.items.keys()):
        _add_text(contents, item, texts[item])
    for name, read in ((f"{PROMPTS}.csv", csv_files.csv_rows), (f"{PROMPTS}.jsonl", json_files.json_lines)):
        if (root / name).is_file():
            _add_table(contents, read(root / name), name)
    if not contents.items and not contents.problems:
        contents.problems.append(RowProblem("", "", "there are no sounds", "Is it the right folder?"))
    return contents


def _add_sound(contents: _FolderContents, path: Path, below: Path) -> None:
    if len(below.parts) == 1:
        system, item = "", below.stem
    else:
        system, item = below.parts[0], str(Path(*below.parts[1:]).with_suffix(""))
    sounds = contents.references if system == REFERENCE else contents.items.setdefault(item, {})
    key = item if system == REFERENCE else system
    if key in sounds:
        remedy = "Keep one of them, or give them different names."
        problem = f"is called as {sounds[key].name} is"
        contents.problems.append(RowProblem(str(below), "", problem, remedy))
    else:
        sounds[key] = path


def _add_text(contents: _FolderContents, item: str, path: Path) -> None:
    with path.open("rb") as file:
        raw = file.read(MAX_TEXT_LENGTH + 1)
    if len(raw) > MAX_TEXT_LENGTH:
        problem = RowProblem(path.name, "prompt", "is longer than 1 MB", "Shorten the prompt.")
        contents.problems.append(problem)
        return
    try:
        contents.texts[item] = {"prompt": raw.decode("utf-8-sig").strip()}
    except UnicodeDecodeError:
        contents.problems.append(RowProblem(path.name, "prompt", "is not UTF-8", source_files.SAVE_AS_UTF8))


def _add_table(contents: _FolderContents, rows: Rows, name: str) -> None:
    for entry in rows:
        if isinstance(entry, RowProblem):
            contents.problems.append(entry.at(name))
            continue
        row, values = entry
        item = str(values.pop("item_id", "") or "").strip()
        if item not in contents.items:
            problem = f"{item!r} is no sound's name" if item else "is missing"
            remedy = "Write the name of the item's files, without their ending."
            contents.problems.append(RowProblem(f"{name} {row}", "item_id", problem, remedy))
        elif item in contents.texts:
            problem, remedy = f"{item} has texts already", "Keep one of the two."
            contents.problems.append(RowProblem(f"{name} {row}", "item_id", problem, remedy))
        else:
            contents.texts[item] = values


METADATA_READERS: dict[str, Callable[[Path], Rows]] = {
    "metadata.csv": csv_files.csv_rows,
    "metadata.jsonl": json_files.json_lines,
    "metadata.parquet": parquet_files.parquet_rows,
}
FILE_NAME = "file_name"
# By what a folder or a file is called, the split that it holds.
SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
    **dict.fromkeys(("validation", "valid", "dev", "val"), "validation"),
}


def audio_folder_rows(source: Path, protocol: Protocol | None = None, pairing: Pairing = ALL_PAIRS) -> Rows:
    """A row per line of the tables. Without them sounds are paired by their names, as the protocol compares them."""
    if source.is_file() and source.name.lower() not in METADATA_READERS:
        remedy = "Name the folder with the sounds. Archives are unpacked first, or brought in the browser."
        return iter([RowProblem("", "", f"{source.name} is no folder", remedy)])
    folder = source_folder(source)
    tables = [
        path
        for path in source_files.walk_files(folder)
        if isinstance(path, Path) and path.name.lower() in METADATA_READERS
    ]
    return _metadata_rows(folder, tables) if tables else rows_by_name(folder, protocol, pairing)


def source_folder(source: Path) -> Path:
    """The folder, whether it is named or the table inside it."""
    return source if source.is_dir() else source.parent


def _metadata_rows(folder: Path, tables: list[Path]) -> Rows:
    root, used_files = folder.resolve(), set[int]()
    for table in tables:
        place = str(table.relative_to(root)) if len(tables) > 1 else ""
        for entry in METADATA_READERS[table.name.lower()](table):
            if isinstance(entry, RowProblem):
                yield entry.at(place)
                continue
            row, values = f"{place} {entry[0]}".strip(), entry[1]
            row_values = _resolve_row_audio(row, values, table.parent)
            if isinstance(row_values, list):
                yield from row_values
                continue
            used_files |= {hash(value) for value in row_values.values() if isinstance(value, Path)}
            parts = map(str.lower, table.relative_to(root).parts[:-1])
            split = next((SPLITS[part] for part in parts if part in SPLITS), "")
            yield row, {**_default_values(row_values, root, split), **row_values}
    yield from _unlisted_files(root, used_files)


def _resolve_row_audio(row: str, values: dict[str, Any], folder: Path) -> dict[str, Any] | list[RowProblem]:
    """A row with its files in place of their names."""
    audio_columns = {
        column: column.removesuffix(FILE_NAME).removesuffix("_") or "audio"
        for column in values
        if column.endswith(FILE_NAME)
    }
    if several := [column for column in values if column.endswith(f"{FILE_NAME}s")]:
        remedy = f"Name one file per column: {FILE_NAME}, or chosen_{FILE_NAME} and rejected_{FILE_NAME}."
        return [RowProblem(row, several[0], "holds several files", remedy)]
    if not audio_columns:
        return [RowProblem(row, FILE_NAME, "is missing", "Name the row's sound, relative to the table.")]
    if doubled := [
        name
        for column, name in audio_columns.items()
        if name in values or list(audio_columns.values()).count(name) > 1
    ]:
        return [RowProblem(row, doubled[0], "is there twice", f"Keep {doubled[0]} or the file's name.")]
    row_values: dict[str, Any] = {}
    problems = []
    for column, value in values.items():
        text = "" if value is None else str(value).strip()
        sound = (
            source_files.resolve_audio(folder, text, row=row, field=column)
            if column in audio_columns and text
            else None
        )
        if isinstance(sound, RowProblem):
            problems.append(sound)
        row_values[audio_columns.get(column, column)] = sound if column in audio_columns else value
    if not problems and not any(row_values[name] for name in audio_columns.values()):
        problems.append(
            RowProblem(row, FILE_NAME, "is empty", "Name the row's sound, relative to the table.")
        )
    return problems or row_values


def _default_values(row_values: dict[str, Any], root: Path, split: str) -> dict[str, Any]:
    """What a folder says without a column: the item, by its first sound's path, and the split."""
    first = next((value for value in row_values.values() if isinstance(value, Path)), None)
    defaults: dict[str, Any] = (
        {"stratum.split": DefaultText(split)} if split and "split" not in row_values else {}
    )
    if first is not None and "item_id" not in row_values:
        defaults["item_id"] = DefaultText(first.relative_to(root).with_suffix(""))
    return defaults


def _unlisted_files(root: Path, used: set[int]) -> Iterator[RowProblem]:
    for path in source_files.walk_files(root):
        if isinstance(path, RowProblem):
            yield path
        elif source_files.is_audio_file(path) and hash(path) not in used:
            name = str(path.relative_to(root))
            yield RowProblem(name, FILE_NAME, "has no row in the table", "Add a row for it, or take it out.")


# The kinds of files that hold rows; where a folder has several kinds, the one it has most of, or the first here.
ROW_READERS: dict[str, Callable[[Path], Rows]] = {
    ".parquet": parquet_files.parquet_rows,
    ".jsonl": json_files.json_lines,
    ".json": json_files.json_rows,
    ".csv": csv_files.csv_rows,
    ".tsv": csv_files.tsv_rows,
    ".xlsx": xlsx_files.xlsx_rows,
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


def hugging_face_rows(source: Path, protocol: Protocol | None = None, pairing: Pairing = ALL_PAIRS) -> Rows:
    parts = _data_files(source)
    return audio_folder_rows(source, protocol, pairing) if parts is None else _rows(source, parts)


def lists_data_files(folder: Path) -> bool:
    """Whether README.md lists a data set's files."""
    return isinstance(_configurations(folder), list)


def names_every_split(folder: Path) -> bool:
    """Whether every file of rows is named for the split that it holds."""
    parts = _data_files_by_name(folder) or []
    return bool(parts) and all(isinstance(part, _DataFile) and part.split for part in parts)


def unread_configurations(folder: Path) -> list[str]:
    """The configurations that README.md lists besides the one that is read."""
    listed = _configurations(folder)
    if not isinstance(listed, list) or not listed:
        return []
    default = _default_configuration(listed)
    return [yaml_text(config.get("config_name")) for config in listed if config is not default]


def _rows(folder: Path, parts: list[_DataFile | RowProblem]) -> Rows:
    root, counted = source_folder(folder).resolve(), Counter[str]()
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
    listed = _configurations(folder)
    if isinstance(listed, RowProblem):
        return [listed]
    return _data_files_of_readme(folder, listed) if listed else _data_files_by_name(folder)


def _data_files_by_name(folder: Path) -> list[_DataFile | RowProblem] | None:
    paths = [path for path in source_files.walk_files(folder) if isinstance(path, Path)]
    if any(path.name.lower() in METADATA_READERS for path in paths):
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


def _configurations(folder: Path) -> list[dict[str, Any]] | RowProblem | None:
    """Those that README.md lists; None where it lists none."""
    readme = folder / "README.md"
    if not readme.is_file():
        return None
    with readme.open("rb") as file:
        head = file.read(MAX_README_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    if not (match := FRONT_MATTER.match(head)):
        return None
    try:
        stated = source_files.load_yaml(match[1])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return RowProblem("README.md", "", f"its first lines are not YAML ({reason})", "Mend or remove them.")
    configs = stated.get("configs") if isinstance(stated, dict) else None
    return [config for config in configs if isinstance(config, dict)] if isinstance(configs, list) else None


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
        problem = f"{pattern} is not a path below the folder"
        return [RowProblem("README.md", "data_files", problem, LIST_FILES)]
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
