"""Format detection and table previews: by a source's content first, by its name second."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from annotation.importing.formats import contents, folders, json_files, orca, source_files, table, xlsx_files
from annotation.importing.formats.columns import suggest_fields
from annotation.importing.formats.dialects import SEPARATOR_LINE, detect_dialect, detect_encoding
from annotation.importing.formats.pairing import Pairing, PairingError, choose_pairs
from annotation.importing.formats.reading_options import DETECT, ReadingOptions
from annotation.importing.records import UNSTORABLE_CHARACTERS, Audio, RowProblem
from annotation.protocols import Protocol

DetectedFormat = tuple[str, str] | RowProblem
LINE_SUFFIXES = {".csv", ".tsv", ".tab", ".txt", ""}
# Columns that only one format has.
FORMAT_COLUMNS = (
    ("cmi-pref", {"model_a", "model_b", "audio-path", "audio2"}, "CMI-Pref's"),
    ("aes", {"data_path", "Production_Quality"}, "Audiobox Aesthetics'"),
    ("orca", {"question", "reference", "candidate", "ratings"}, "ORCA's"),
    ("label-studio", {"data", "annotations"}, "Label Studio's"),
    ("label-studio", {"annotator", "annotation_id", "lead_time"}, "Label Studio's"),
    ("fense", {"references", "HC"}, "FENSE's"),
    ("fense", {"references", "HM"}, "FENSE's"),
)
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
POTATO_FILES = ("user_state.json", "annotated_instances")
# What is looked at in a folder before it is told that it holds nothing known.
MAX_FILES_INSPECTED = 10_000
REMEDY = "Say which format it is in, or write it as CSV or JSONL."


def detect_format(source: Path) -> DetectedFormat:
    """A key of FORMATS and the reason for it, in a sentence; a problem where nothing fits.

    Of an upload that holds one table and sounds beside it, the table's format.
    """
    return _of_folder(source) if source.is_dir() else _of_file(source)


def _of_file(source: Path) -> DetectedFormat:
    with source.open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return "parquet", "It is a Parquet file."
    if start == b"PK\x03\x04" and xlsx_files.is_workbook(source):
        return "xlsx", "It is an Excel workbook."
    if found := _unusable_content(source, start):
        return RowProblem("", "", f"{source.name} {found[0]}", found[1])
    match json_files.first_character(source):
        case "[":
            return _of_list(source)
        case "{":
            return _of_object(source)
    if kind := contents.sound_format(source) or ("sound" if source_files.is_audio_file(source) else ""):
        alone = "a sound alone" if kind == "sound" else f"a sound alone ({kind})"
        remedy = "Put it into a folder with others, one folder per system, or name it in a table."
        return RowProblem("", "", f"{source.name} is {alone}", remedy)
    return _of_lines(source)


def _unusable_content(source: Path, start: bytes) -> tuple[str, str] | None:
    if start.startswith(UTF_16_MARKS) or detect_encoding(start, is_whole=False).startswith("utf-16"):
        return None
    return contents.unusable_content(source) or source_files.binary_format(start)


def _of_list(source: Path) -> DetectedFormat:
    entry = next(json_files.stream_entries(source, opens="["), None)
    if isinstance(entry, RowProblem):
        return entry.of_file(source)
    if entry is not None and isinstance(entry[1], dict):
        return _match_columns(entry[1]) or ("json", "It is a list of objects.")
    return RowProblem("", "", f"{source.name} is a list, but not of objects", REMEDY)


def _of_object(source: Path) -> DetectedFormat:
    """Lines that are objects each, or one object: of entries by their names, or of columns."""
    first = next(source_files.raw_lines(source), None)
    try:
        line = json_files.parse_json(first[1]) if isinstance(first, tuple) else None
    except (ValueError, UnicodeDecodeError):
        line = None
    is_alone = isinstance(first, tuple) and len(first[1]) >= source.stat().st_size
    if isinstance(line, dict) and not (is_alone and _is_nested(line)):
        return _match_columns(line) or ("jsonl", "Each line is a JSON object.")
    entry = next(json_files.stream_entries(source, opens="{"), None)
    if isinstance(entry, tuple) and isinstance(entry[1], list):
        return "json", "It is an object of columns, each a list."
    if isinstance(entry, tuple) and isinstance(entry[1], dict):
        return _match_columns(entry[1]) or RowProblem(
            "", "", f"{source.name} is an object of objects", REMEDY
        )
    problem = entry.problem if isinstance(entry, RowProblem) else "is an object without entries"
    return RowProblem("", "", f"{source.name} {problem}", REMEDY)


def _is_nested(line: dict[str, Any]) -> bool:
    """A line alone that holds its rows, by name or by column."""
    return all(isinstance(value, dict) for value in line.values()) or (
        all(isinstance(value, list) for value in line.values())
    )


def _of_lines(source: Path) -> DetectedFormat:
    dialect = detect_dialect(source)
    if contents.is_binary(source, dialect.encoding):
        return RowProblem("", "", f"{source.name} is no text", contents.ACCEPTED)
    lines = source_files.decoded_lines(source, encoding=dialect.encoding, n_mark_bytes=dialect.n_mark_bytes)
    first = next(lines, None)
    if isinstance(first, RowProblem):
        return first.of_file(source)
    header = first[1] if first and source.suffix.lower() in LINE_SUFFIXES else ""
    if (
        SEPARATOR_LINE.match(header.rstrip())
        or dialect.separator in header
        or source.suffix.lower() == ".csv"
    ):
        why = f"Its first line names columns, with {dialect.separator_title} between them."
        return ("tsv" if dialect.separator == "\t" else "csv"), why
    return RowProblem("", "", f"{source.name} is in no format known here", REMEDY)


def _match_columns(entry: dict[str, Any]) -> tuple[str, str] | None:
    for format, columns, whose in FORMAT_COLUMNS:
        if columns <= entry.keys():
            return format, f"It has {whose} columns."
    return None


def _of_folder(folder: Path) -> DetectedFormat:
    files = (path for path in source_files.walk_files(folder) if isinstance(path, Path))
    paths = list(islice(files, MAX_FILES_INSPECTED))
    names = {path.name.lower() for path in paths}
    if any(name.startswith(POTATO_FILES) for name in names):
        return "potato", "It holds what POTATO writes for each person."
    if table := sorted(names & folders.METADATA_READERS.keys()):
        return "audiofolder", f"It holds {table[0]}."
    if folders.lists_data_files(folder):
        return "huggingface", "Its README.md lists the files of a data set."
    # Prompts belong to the sounds beside them, and what describes a data set is none of its rows.
    tables = [
        path
        for path in paths
        if path.suffix.lower() in folders.ROW_READERS
        and path.name.lower() not in folders.METADATA_FILES
        and path.stem.lower() != folders.PROMPTS
    ]
    top = [path for path in tables if path.parent == folder.resolve()]
    sounds = any(map(source_files.is_audio_file, paths))
    if len(top) == 1:
        return _of_file(top[0])
    if top and (alike := _common_format(top)):
        return alike
    if tables and folders.names_every_split(folder):
        return "huggingface", "Its files are named for the splits of a data set."
    if sounds and not top:
        return "audiofolder", "It holds sounds, and no table."
    if top:
        several = ", ".join(path.name for path in top[:5])
        return RowProblem(
            "", "", f"holds several tables: {several}", "Bring the one to import, and its sounds."
        )
    return RowProblem("", "", f"{folder.name} holds nothing that can be imported", REMEDY)


def _common_format(tables: list[Path]) -> DetectedFormat | None:
    """The format that reads several files of one kind, where all of them are of it."""
    guesses = [
        _of_file(path)
        for path in tables[:20]
        if path.suffix.lower() in (".json", ".jsonl") and not orca.is_question_list(path)
    ]
    first, *others = guesses or [RowProblem("", "", "holds no JSON")]
    if isinstance(first, tuple) and first[0] in ("orca", "fense"):
        return first if all(isinstance(guess, tuple) and guess[0] == first[0] for guess in others) else None
    return None


# Table previews

# A preview is read by a person: a source whose every row is wrong is wrong in the same way.
MAX_PROBLEMS = 20
MAX_CELL_LENGTH = 200
AUDIO_FILE_NAME = re.compile(r"\S.*\.(?:wav|mp3|flac|ogg|opus|m4a|aac|aiff?|wma)(?:\?\S*)?\Z", re.IGNORECASE)


@dataclass(frozen=True)
class TablePreview:
    """`rows` are texts in the order of `columns`, cut to 200 characters.

    types: per column "whole number", "number", "sound", "text", "list", "object", "bytes", "mixed" or "empty", as far
    as the rows that were read show. suggested: per column the field that it most likely holds, or "".
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    types: Mapping[str, str]
    suggested: Mapping[str, str]
    problems: tuple[RowProblem, ...] = ()


def preview_table(
    source: Path,
    kind: str,
    rows: int = 10,
    *,
    protocol: Protocol | None = None,
    how: ReadingOptions = DETECT,
) -> TablePreview:
    """What the first `rows` rows of a table hold. `kind` is a key of `table.TABLE_READERS`; no more is read than shown.

    Sounds that nothing but their folders pair are paired as `protocol` compares them; alone, where there is none.
    """
    paired_by = protocol if kind == "audiofolder" else None
    entries: list[dict[str, Any]] = []
    problems: list[RowProblem] = []
    for entry in table.source_rows(kind, source, protocol=paired_by, how=how):
        if isinstance(entry, RowProblem):
            problems.append(entry)
        else:
            entries.append(entry[1])
        if len(entries) >= rows or len(problems) >= MAX_PROBLEMS:
            break
    named = dict.fromkeys(column for entry in entries for column in entry)
    columns = tuple(column for column in named if not UNSTORABLE_CHARACTERS.search(column))
    problem, remedy = "holds a character that no text can hold", "Remove zero bytes and half characters."
    problems += [
        RowProblem("", _display_text(column), problem, remedy) for column in named if column not in columns
    ]
    types = {column: _column_type([entry.get(column) for entry in entries]) for column in columns}
    shown = tuple(tuple(_display_text(entry.get(column)) for column in columns) for entry in entries)
    return TablePreview(columns, shown, types, suggest_fields(columns, types), tuple(problems))


def _column_type(values: Sequence[Any]) -> str:
    kinds = {_value_kind(value) for value in values if value not in (None, "")}
    if not kinds:
        return "empty"
    if kinds == {"number", "whole number"}:
        return "number"
    return kinds.pop() if len(kinds) == 1 else "text" if kinds <= SCALAR_KINDS else "mixed"


SCALAR_KINDS = {"number", "whole number", "text", "sound"}


def _value_kind(value: Any) -> str:
    match value:
        case int() if not isinstance(value, bool):
            return "whole number"
        case str():
            return _text_kind(value.strip())
        case _ if isinstance(value, Audio):
            return "sound"
        case _:
            return table.KINDS_BY_TYPE.get(type(value), "text")


def _text_kind(text: str) -> str:
    if re.fullmatch(r"[+-]?\d{1,18}", text):
        return "whole number"
    if re.fullmatch(r"[+-]?(?:\d+\.\d*|\.?\d+)(?:[eE][+-]?\d{1,3})?", text):
        return "number"
    return "sound" if AUDIO_FILE_NAME.match(text) else "text"


def _display_text(value: Any) -> str:
    if value is None:
        return ""
    text = value.name if isinstance(value, Audio) else str(value).strip()
    text = text.encode(errors="backslashreplace").decode()  # no page could be sent with half a character
    return text if len(text) <= MAX_CELL_LENGTH else f"{text[: MAX_CELL_LENGTH - 1]}…"


# Suggested protocol


# Of a table no more rows are read to see which systems made the clips of which prompt.
MAX_DESIGN_ROWS = 5000


@dataclass(frozen=True)
class ClipDesign:
    """Which systems made clips of which prompt, in a source of one clip per row or one folder per system.

    groups: the systems of each prompt, or of each take of it. complete: every row was read.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    complete: bool = True

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(sorted({system for group in self.groups for system in group}))

    @property
    def compares(self) -> bool:
        """Whether a prompt has clips of several systems."""
        return any(len(group) > 1 for group in self.groups)

    def n_comparisons(self, pairing: Pairing) -> int:
        try:
            return sum(map(len, choose_pairs(self.groups, pairing)))
        except PairingError:
            return 0


def clip_design(
    source: Path, kind: str, fields: Mapping[str, str], *, how: ReadingOptions = DETECT
) -> ClipDesign:
    """`fields`: what each column holds. Empty where no row names one clip, or one answer, of a prompt."""
    columns = {field: column for column, field in fields.items() if field}
    item_column = columns.get("item_id") or columns.get("prompt") or columns.get("question_text")
    if not columns.keys() & {"audio", "answer"} or item_column is None:
        return ClipDesign()
    names = (item_column, columns.get("take", ""), columns.get("system", ""))
    groups: dict[tuple[str, str], dict[str, None]] = {}
    n_rows = 0
    for entry in islice(table.source_rows(kind, source, how=how), MAX_DESIGN_ROWS):
        n_rows += 1
        if isinstance(entry, RowProblem):
            continue
        item, take, system = (_display_text(entry[1].get(name)) for name in names)
        if item and system:
            groups.setdefault((item, take), {})[system] = None
    return ClipDesign(tuple(map(tuple, groups.values())), n_rows < MAX_DESIGN_ROWS)


def suggest_preset(fields: Collection[str], *, compares: bool = False) -> str:
    """The preset that fits these fields of a plain table best: by how many candidates a row has and of what kind.

    compares: a table of one clip per row has clips of several systems for one item.
    """
    if "audio_b" in fields or ("audio" in fields and compares):
        return "cmi-pref"
    if "answer_c" in fields:
        return "aqeval"
    if "answer_b" in fields:
        return "fense"
    if "answer" in fields or "question_text" in fields:
        return "orca"
    return "pam" if "prompt" in fields else "aes"
