"""Folders of sounds without a table: one folder per system, and in each the same item under the same name.

    waltz.txt                the item's prompt, or prompts.csv with item_id, prompt and whatever else is known of items
    alpha/waltz.wav
    beta/waltz.wav
    reference/waltz.wav      where the protocol plays a reference

Where clips are judged alone, each is a task. Comparisons are of every two systems; panels are of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from annotation.importers import columns, delimited, files, sound_files
from annotation.importers.records import LONGEST_TEXT, RowProblem
from annotation.protocols import Protocol

Rows = Iterator[tuple[str, dict[str, Any]] | RowProblem]
REFERENCE = "reference"
PROMPTS = "prompts"
# Every two of so many systems are already 1,225 comparisons of each item.
LARGEST_ROUND = 50
SAME_NAMES = "Give what belongs together the same name in every system's folder."


@dataclass
class _Found:
    """What the names of the files say. `items`: sounds by item, then by system ("" where there are no folders)."""

    items: dict[str, dict[str, Path]] = field(default_factory=dict)
    references: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: list[RowProblem] = field(default_factory=list)

    @property
    def systems(self) -> list[str]:
        return sorted({system for sounds in self.items.values() for system in sounds})


def rows(folder: Path) -> Rows:
    """A row per sound."""
    found = _found(folder)
    yield from found.problems
    for item, sounds in found.items.items():
        for system, sound in sounds.items():
            told = {"system": system} if system else {}
            yield str(sound.relative_to(folder.resolve())), {**_item(found, item), **told, "audio": sound}


def rows_for(folder: Path, protocol: Protocol) -> Rows:
    """A row per task that a protocol can ask about."""
    letters = columns.letters(protocol)
    if not letters:
        yield from rows(folder)
        return
    found = _found(folder)
    yield from found.problems
    systems, most = found.systems, len(letters) if len(letters) > 2 else LARGEST_ROUND
    if "" in systems or not 2 <= len(systems) <= most:
        stands = f"{len(systems)} folders of sounds" if "" not in systems else "sounds in no system's folder"
        remedy = f"Make a folder for each of 2 to {most} systems, with the same file names in each."
        yield RowProblem("", "", f"there are {stands}", remedy)
        return
    for item, sounds in found.items.items():
        yield from _missing(item, found, systems)
        for several in combinations(sounds, 2) if len(letters) == 2 else [tuple(sounds)]:
            row = _item(found, item)
            for letter, system in zip(letters, several, strict=False):
                row |= {f"system_{letter}": system, f"audio_{letter}": sounds[system]}
            yield f"{item} ({', '.join(several)})", row


def _item(found: _Found, item: str) -> dict[str, Any]:
    reference = {"reference_audio": found.references[item]} if item in found.references else {}
    return {"item_id": item, **found.texts.get(item, {}), **reference}


def _missing(item: str, found: _Found, systems: list[str]) -> Iterator[RowProblem]:
    for system in systems:
        if system not in found.items[item]:
            alike = [
                other
                for other, sounds in found.items.items()
                if other.casefold() == item.casefold() and system in sounds
            ]
            problem = f"has no {item}" + (f", but {alike[0]}" if alike else "")
            yield RowProblem(item, system, problem, SAME_NAMES)


def _found(folder: Path) -> _Found:
    found, root = _Found(), folder.resolve()
    texts: dict[str, Path] = {}
    for path in sound_files.walk(folder):
        if isinstance(path, RowProblem):
            found.problems.append(path)
            continue
        below = path.relative_to(root)
        if sound_files.is_sound(path):
            _add_sound(found, path, below)
        elif path.suffix.lower() == ".txt" and below.parts[:-1] in ((), (PROMPTS,)):
            texts[path.stem] = path
    for item in sorted(texts.keys() & found.items.keys()):
        _add_text(found, item, texts[item])
    for name, read in ((f"{PROMPTS}.csv", delimited.csv_rows), (f"{PROMPTS}.jsonl", files.json_lines)):
        if (root / name).is_file():
            _add_table(found, read(root / name), name)
    if not found.items and not found.problems:
        found.problems.append(RowProblem("", "", "there are no sounds", "Is it the right folder?"))
    return found


def _add_sound(found: _Found, path: Path, below: Path) -> None:
    if len(below.parts) == 1:
        system, item = "", below.stem
    else:
        system, item = below.parts[0], str(Path(*below.parts[1:]).with_suffix(""))
    sounds = found.references if system == REFERENCE else found.items.setdefault(item, {})
    key = item if system == REFERENCE else system
    if key in sounds:
        remedy = "Keep one of them, or give them different names."
        problem = f"is called as {sounds[key].name} is"
        found.problems.append(RowProblem(str(below), "", problem, remedy))
    else:
        sounds[key] = path


def _add_text(found: _Found, item: str, path: Path) -> None:
    with path.open("rb") as file:
        raw = file.read(LONGEST_TEXT + 1)
    if len(raw) > LONGEST_TEXT:
        found.problems.append(RowProblem(path.name, "prompt", "is longer than 1 MB", "Shorten the prompt."))
        return
    try:
        found.texts[item] = {"prompt": raw.decode("utf-8-sig").strip()}
    except UnicodeDecodeError:
        found.problems.append(RowProblem(path.name, "prompt", "is not UTF-8", files.UTF8))


def _add_table(found: _Found, rows: Rows, name: str) -> None:
    for entry in rows:
        if isinstance(entry, RowProblem):
            found.problems.append(RowProblem(f"{name} {entry.row}", entry.field, entry.problem, entry.remedy))
            continue
        row, values = entry
        item = str(values.pop("item_id", "") or "").strip()
        if item not in found.items:
            problem = f"{item!r} is no sound's name" if item else "is missing"
            remedy = "Write the name of the item's files, without their ending."
            found.problems.append(RowProblem(f"{name} {row}", "item_id", problem, remedy))
        elif item in found.texts:
            remedy = "Keep one of the two."
            found.problems.append(RowProblem(f"{name} {row}", "item_id", f"{item} has texts already", remedy))
        else:
            found.texts[item] = values
