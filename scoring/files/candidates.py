"""A folder of sounds to choose from, by what they were made for.

Either metadata.csv (or .tsv, .jsonl) lies in it, with a row for each sound; or each of its sub-folders is one prompt,
with prompt.txt, where wanted lyrics.txt and a sound called reference, and the candidates. Those stand in the order of
the file, or in that of their names with numbers by their value: best of N is over the first N.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.errors import FieldProblem, InvalidInput
from annotation.importers import delimited, files
from annotation.importers.records import RowProblem

METADATA = ("metadata.csv", "metadata.tsv", "metadata.jsonl")
COLUMNS = ("audio", "prompt", "lyrics", "reference", "group")

_TEXTS = ("prompt.txt", "lyrics.txt")
_SOUNDS = {".wav", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".m4a", ".aac", ".aif", ".aiff", ".wma"}
_REFERENCE = "reference"
_SHOWN = 20


@dataclass(frozen=True)
class Group:
    """A prompt and the sounds made for it. `names` are their paths as the folder has them."""

    name: str
    prompt: str
    lyrics: str
    reference: Path | None
    names: tuple[str, ...]
    paths: tuple[Path, ...]


def read_groups(folder: Path, *, needs_text: bool) -> list[Group]:
    """All prompts in their order, or InvalidInput with what is wrong with which row or folder, and what mends it."""
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder}.")
    described = [folder / name for name in METADATA if (folder / name).is_file()]
    if len(described) > 1:
        raise InvalidInput(f"{folder} has {' and '.join(one.name for one in described)}. Leave one of them.")
    found = list(_from_file(described[0]) if described else _from_folders(folder))
    if needs_text:
        found = [_with_text(each) for each in found]
    if problems := [each for each in found if isinstance(each, RowProblem)]:
        raise _refusal(folder, problems)
    groups = [each for each in found if isinstance(each, Group)]
    if not groups:
        raise InvalidInput(
            f"{folder} holds no candidates. Put metadata.csv into it, with the columns {', '.join(COLUMNS)}, or a "
            "sub-folder for each prompt, with prompt.txt and the sounds made for it."
        )
    return groups


def _with_text(found: Group | RowProblem) -> Group | RowProblem:
    if isinstance(found, Group) and not found.prompt:
        return RowProblem(found.name, "prompt", "is empty", "This scorer compares with a text: write one.")
    return found


def _refusal(folder: Path, problems: Sequence[RowProblem]) -> InvalidInput:
    more = " Only the first are shown." if len(problems) > _SHOWN else ""
    return InvalidInput(
        f"{folder} cannot be ranked as it is; nothing was.{more}",
        problems=[
            FieldProblem(f"{each.row}, {each.field}" if each.field else each.row, each.problem, each.remedy)
            for each in problems[:_SHOWN]
        ],
    )


def _from_folders(folder: Path) -> Iterator[Group | RowProblem]:
    inner = sorted(
        (each for each in folder.iterdir() if each.is_dir() and not _is_hidden(each)), key=_natural
    )
    prompts = [folder] if (folder / _TEXTS[0]).is_file() else inner
    for place in prompts:
        yield _from_folder(place, below=folder)


def _from_folder(place: Path, *, below: Path) -> Group | RowProblem:
    if not (place / _TEXTS[0]).is_file():
        return RowProblem(
            place.name, "", "has no prompt.txt", "Write the prompt of its sounds there, empty if none."
        )
    texts = [_read(place / name) for name in _TEXTS]
    for text in texts:
        if isinstance(text, RowProblem):
            return text
    sounds = sorted((file for file in place.iterdir() if _is_sound(file)), key=_natural)
    references = [file for file in sounds if file.stem.lower() == _REFERENCE]
    if len(references) > 1:
        return RowProblem(place.name, _REFERENCE, f"is there {len(references)} times", "Leave one of them.")
    candidates = [file for file in sounds if file not in references]
    if not candidates:
        remedy = f"Put sounds there, with names that end in {', '.join(sorted(_SOUNDS))}."
        return RowProblem(place.name, "", "holds no sounds to choose from", remedy)
    return Group(
        place.name, str(texts[0]), str(texts[1]), references[0] if references else None,
        tuple(file.relative_to(below).as_posix() for file in candidates), tuple(candidates),
    )  # fmt: skip


def _read(file: Path) -> str | RowProblem:
    """Empty where there is none."""
    if not file.is_file():
        return ""
    try:
        return file.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        return RowProblem(file.parent.name, file.name, f"cannot be read: {error}", "Save it as UTF-8.")


def _is_sound(file: Path) -> bool:
    return file.is_file() and file.suffix.lower() in _SOUNDS and not _is_hidden(file)


def _is_hidden(path: Path) -> bool:
    return path.name.startswith(".")


def _natural(path: Path) -> list[tuple[int, str]]:
    """take-2 before take-10."""
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


def _from_file(source: Path) -> Iterator[Group | RowProblem]:
    rows: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for found in _rows(source):
        checked = found if isinstance(found, RowProblem) else _checked(source.parent, *found)
        if isinstance(checked, RowProblem):
            yield checked
            continue
        asked = (checked["prompt"], checked["lyrics"], str(checked["reference"] or ""))
        rows.setdefault((checked["group"],) if checked["group"] else ("", *asked), []).append(checked)
    for number, members in enumerate(rows.values(), 1):
        yield _group(members, number)


def _rows(source: Path) -> Iterator[tuple[str, dict[str, Any]] | RowProblem]:
    if source.suffix == ".jsonl":
        return files.json_lines(source)
    return delimited.csv_rows(source, delimiter="\t" if source.suffix == ".tsv" else ",")


def _checked(folder: Path, line: str, cells: dict[str, Any]) -> dict[str, Any] | RowProblem:
    """The row's texts, and the paths of its sounds."""
    for name, value in cells.items():
        if name not in COLUMNS:
            return RowProblem(line, str(name), "is no column of candidates", f"Use {', '.join(COLUMNS)}.")
        if not isinstance(value, str | None):
            return RowProblem(line, name, "is not a text", "Write it in quotes.")
    values: dict[str, Any] = {name: (cells.get(name) or "").strip() for name in COLUMNS}
    if not values["audio"]:
        return RowProblem(line, "audio", "is missing", "Name a sound file below the folder.")
    path = files.beside(folder, values["audio"], row=line, field="audio")
    reference = values["reference"] and files.beside(folder, values["reference"], row=line, field=_REFERENCE)
    for found in (path, reference):
        if isinstance(found, RowProblem):
            return found
    return {**values, "line": line, "path": path, "reference": reference or None}


def _group(members: Sequence[dict[str, Any]], number: int) -> Group | RowProblem:
    first = members[0]
    for member in members:
        for name in ("prompt", "lyrics", "reference"):
            if member[name] != first[name]:
                remedy = f"Candidates of one group are for one prompt: see row {first['line']}."
                return RowProblem(member["line"], name, f"differs within group {first['group']!r}", remedy)
    names = tuple(member["audio"] for member in members)
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        return RowProblem(
            first["line"], "audio", f"{repeated[0]} is there twice", "List each candidate once."
        )
    return Group(
        first["group"] or str(number), first["prompt"], first["lyrics"], first["reference"], names,
        tuple(member["path"] for member in members),
    )  # fmt: skip
