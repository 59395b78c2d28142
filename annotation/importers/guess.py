"""Which format a source is in: by what it holds, as little of it as tells, before what it is called."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from annotation.importers import audio_folder, files, hugging_face, json_entries, sound_files, strict_json
from annotation.importers.records import RowProblem

Guess = tuple[str, str] | RowProblem
TABLES = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".json": "json", ".parquet": "parquet"}
LINES = {".csv", ".tsv", ".tab", ".txt", ""}
# Columns that only one format has.
MARKS = (
    ("cmi-pref", {"model_a", "model_b", "audio-path", "audio2"}, "CMI-Pref's"),
    ("aes", {"data_path", "Production_Quality"}, "Audiobox Aesthetics'"),
    ("orca", {"question", "reference", "candidate", "ratings"}, "ORCA's"),
    ("label-studio", {"data", "annotations"}, "Label Studio's"),
    ("label-studio", {"annotator", "annotation_id", "lead_time"}, "Label Studio's"),
    ("fense", {"references", "HC"}, "FENSE's"),
    ("fense", {"references", "HM"}, "FENSE's"),
)
POTATO = ("user_state.json", "annotated_instances")
# What is looked at in a folder before it is told that it holds nothing known.
MOST_LOOKED_AT = 10_000
REMEDY = "Say which format it is in, or write it as CSV or JSONL."


def guess_format(source: Path) -> Guess:
    """A key of FORMATS and the reason for it, in a sentence; a problem where nothing fits.

    Of an upload that holds one table and sounds beside it, the table's format.
    """
    return _of_folder(source) if source.is_dir() else _of_file(source)


def _of_file(source: Path) -> Guess:
    with source.open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return "parquet", "It is a Parquet file."
    if found := files.not_text(start):
        return RowProblem("", "", f"{source.name} {found[0]}", found[1])
    match json_entries.opening(source):
        case "[":
            return _of_list(source)
        case "{":
            return _of_object(source)
    if sound_files.is_sound(source):
        remedy = "Put it into a folder with others, one folder per system, or name it in a table."
        return RowProblem("", "", f"{source.name} is a sound alone", remedy)
    return _of_lines(source)


def _of_list(source: Path) -> Guess:
    entry = next(json_entries.entries(source, opens="["), None)
    if isinstance(entry, RowProblem):
        return RowProblem(entry.row, "", f"{source.name} {entry.problem}", entry.remedy)
    if entry is not None and isinstance(entry[1], dict):
        return _marked(entry[1]) or ("json", "It is a list of objects.")
    return RowProblem("", "", f"{source.name} is a list, but not of objects", REMEDY)


def _of_object(source: Path) -> Guess:
    """Lines that are objects each, or one object: of entries by their names, or of columns."""
    first = next(files.raw_lines(source), None)
    try:
        line = strict_json.loads(first[1]) if isinstance(first, tuple) else None
    except (ValueError, UnicodeDecodeError):
        line = None
    is_alone = isinstance(first, tuple) and len(first[1]) >= source.stat().st_size
    if isinstance(line, dict) and not (is_alone and _is_nested(line)):
        return _marked(line) or ("jsonl", "Each line is a JSON object.")
    entry = next(json_entries.entries(source, opens="{"), None)
    if isinstance(entry, tuple) and isinstance(entry[1], list):
        return "json", "It is an object of columns, each a list."
    if isinstance(entry, tuple) and isinstance(entry[1], dict):
        return _marked(entry[1]) or RowProblem("", "", f"{source.name} is an object of objects", REMEDY)
    problem = entry.problem if isinstance(entry, RowProblem) else "is an object without entries"
    return RowProblem("", "", f"{source.name} {problem}", REMEDY)


def _is_nested(line: dict[str, Any]) -> bool:
    """A line alone that holds its rows, by name or by column."""
    return all(isinstance(value, dict) for value in line.values()) or (
        all(isinstance(value, list) for value in line.values())
    )


def _of_lines(source: Path) -> Guess:
    first = next(files.lines(source), None)
    if isinstance(first, RowProblem):
        return RowProblem(first.row, "", f"{source.name} {first.problem}", first.remedy)
    header = first[1] if first and source.suffix.lower() in LINES else ""
    if header.count("\t") > header.count(","):
        return "tsv", "Its first line names columns, with tabs between them."
    if "," in header or source.suffix.lower() == ".csv":
        return "csv", "Its first line names columns, with commas between them."
    return RowProblem("", "", f"{source.name} is in no format known here", REMEDY)


def _marked(entry: dict[str, Any]) -> tuple[str, str] | None:
    for format, columns, whose in MARKS:
        if columns <= entry.keys():
            return format, f"It has {whose} columns."
    return None


def _of_folder(folder: Path) -> Guess:
    found = list(islice(_files(folder), MOST_LOOKED_AT))
    names = {path.name.lower() for path in found}
    if any(name.startswith(POTATO) for name in names):
        return "potato", "It holds what POTATO writes for each person."
    if table := sorted(names & audio_folder.METADATA.keys()):
        return "audiofolder", f"It holds {table[0]}."
    if hugging_face.is_described(folder):
        return "huggingface", "Its README.md lists the files of a data set."
    tables = [path for path in found if path.suffix.lower() in TABLES and not _is_aside(path)]
    top = [path for path in tables if path.parent == folder.resolve()]
    sounds = any(map(sound_files.is_sound, found))
    if len(top) == 1:
        return _of_file(top[0])
    if top and (alike := _alike(top)):
        return alike
    if tables and hugging_face.is_split(folder):
        return "huggingface", "Its files are named for the splits of a data set."
    if sounds and not top:
        return "audiofolder", "It holds sounds, and no table."
    if top:
        several = ", ".join(path.name for path in top[:5])
        return RowProblem(
            "", "", f"holds several tables: {several}", "Bring the one to import, and its sounds."
        )
    return RowProblem("", "", f"{folder.name} holds nothing that can be imported", REMEDY)


def _alike(tables: list[Path]) -> Guess | None:
    """The format that reads several files of one kind, where all of them are of it."""
    guesses = [_of_file(path) for path in tables[:20] if path.suffix.lower() in (".json", ".jsonl")]
    first, *others = guesses or [RowProblem("", "", "holds no JSON")]
    if isinstance(first, tuple) and first[0] in ("orca", "fense"):
        return first if all(isinstance(one, tuple) and one[0] == first[0] for one in others) else None
    return None


def _is_aside(path: Path) -> bool:
    """Prompts belong to the sounds beside them, and what describes a data set is none of its rows."""
    return path.stem.lower() == "prompts" or path.name.lower() in hugging_face.NO_DATA


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sound_files.walk(folder) if isinstance(path, Path))
