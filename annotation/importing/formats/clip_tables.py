"""Tables of one clip, or one answer, per row become comparisons and panels: rows about one prompt are put together.

The rows of a prompt may lie anywhere in the source. They wait in a temporary SQLite database, which moves to the disk
where they are many, so that memory does not grow with the source.
"""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path

from annotation.importing.formats import columns
from annotation.importing.formats.columns import ANSWER_FIELDS, ITEM_TEXTS, Cells
from annotation.importing.formats.pairing import Pair, Pairing, PairingError, choose_pairs
from annotation.importing.records import Audio, Note, RowProblem, text_digest
from annotation.protocols import Protocol

Values = dict[str, str | Audio]
# Columns with one value per task, whichever rows of its clips hold it.
ITEM_FIELDS = (*ITEM_TEXTS, "item_audio", "reference_audio")
SOUND_FIELDS = ("audio", "item_audio", "reference_audio")
PROMPT_NAME_LENGTH = 60
MAKE_WHOLE = "Add the clip that is missing, or remove the prompt's rows."
_TABLES = """
CREATE TABLE clips (number INTEGER PRIMARY KEY, grouped TEXT, system TEXT, line TEXT, cells BLOB,
                    UNIQUE (grouped, system));
"""


def has_clip_per_row(fields: Sequence[str], protocol: Protocol) -> bool:
    """Whether these fields name one candidate per row, and the protocol asks about several at once."""
    if protocol.layout == "rating":
        return False
    judged = "answer" if protocol.candidate == "text" else "audio"
    lettered = {name for name in fields if name in columns.LETTERED_FIELDS}
    return judged in fields and not lettered


class ClipTable:
    """Collects the clips of a table, then yields the cells of each task. Close it, or use it in a `with`."""

    def __init__(self, protocol: Protocol, pairing: Pairing, folder: Path) -> None:
        self._protocol, self._pairing, self._folder = protocol, pairing, folder
        self._judged = "answer" if protocol.candidate == "text" else "audio"
        # An empty name: a database of this connection alone, in memory until it is large.
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.executescript(_TABLES)
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        self._n = 0

    def __enter__(self) -> ClipTable:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def add(self, cells: Cells) -> None:
        """Keep a row; what is wrong with it is reported in `cells`."""
        item = _item_of(cells)
        system = cells["system"]
        if not item:
            cells.report("item_id", "is missing", "Give every row the id of its prompt.")
        if not system:
            remedy = "Name the system of the clip in a column system; raters never see it."
            cells.report("system", "is missing", remedy)
        if answered := next((name for name in ANSWER_FIELDS if cells[name]), ""):
            remedy = (
                "Leave the column out, or give each comparison a row of its own with audio_a and audio_b."
            )
            cells.report(answered, "answers a comparison, and the row names one clip", remedy)
        sounds = {name: cells.sound(name, self._folder) for name in SOUND_FIELDS if cells[name]}
        if not cells[self._judged]:
            remedy = (
                "Name the clip's file, relative to the source." if self._judged == "audio" else "Write it."
            )
            cells.report(self._judged, "is missing", remedy)
        if cells.problems:
            return
        values: Values = {**cells.values, **{name: sound for name, sound in sounds.items() if sound}}
        values["item_id"] = item
        group = f"{item}\x1f{cells['take']}"
        self._n += 1
        row = (self._n, group, system, cells.row, pickle.dumps(values))
        if not self._connection.execute("INSERT OR IGNORE INTO clips VALUES (?, ?, ?, ?, ?)", row).rowcount:
            (line,) = self._connection.execute(
                "SELECT line FROM clips WHERE grouped = ? AND system = ?", (group, system)
            ).fetchone()
            problem = f"{system} has a clip of {item} on row {line} already"
            remedy = "Keep one of the two, or say in a column take which clips belong together."
            cells.report("system", problem, remedy)

    def tasks(self) -> Iterator[Cells | RowProblem | Note]:
        """The cells of each task, as a row with a column per candidate has them."""
        groups = self._groups()
        if not groups:
            return
        if self._protocol.layout == "panel":
            yield from self._panels(groups)
            return
        try:
            pairs = choose_pairs([systems for _, systems in groups], self._pairing)
            for (group, systems), chosen in zip(groups, pairs, strict=True):
                yield from self._comparisons(group, systems, chosen)
        except PairingError as error:
            problem, _, remedy = str(error).partition(". ")
            yield RowProblem("", "system", problem, remedy)

    def _groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """Each prompt's systems, in the order in which the source first names the prompts."""
        ordered = self._connection.execute(
            "SELECT grouped, system FROM clips ORDER BY min(number) OVER (PARTITION BY grouped), system"
        )
        known: dict[tuple[str, ...], tuple[str, ...]] = {}
        systems_by_group: dict[str, list[str]] = {}
        for group, system in ordered:
            systems_by_group.setdefault(group, []).append(system)
        # Most prompts have the same systems: these are stored once.
        return [
            (group, known.setdefault(tuple(systems), tuple(systems)))
            for group, systems in systems_by_group.items()
        ]

    def _comparisons(
        self, group: str, systems: Sequence[str], pairs: Sequence[Pair]
    ) -> Iterator[Cells | RowProblem]:
        clips = yield from self._clips(group)
        if not pairs:
            first = next(iter(clips.values()))
            item = str(first.values["item_id"])
            if len(systems) < 2:
                yield RowProblem(first.row, "system", f"only {systems[0]} has a clip of {item}", MAKE_WHOLE)
            else:
                problem = f"{item} has no clip of the baseline {self._pairing.baseline}"
                yield RowProblem(first.row, "system", problem, MAKE_WHOLE)
        for pair in pairs:
            if all(system in clips for system in pair):
                yield self._side_by_side([clips[system] for system in pair])

    def _panels(self, groups: Sequence[tuple[str, Sequence[str]]]) -> Iterator[Cells | RowProblem]:
        added = len(self._protocol.added)
        least, most = (max(1, bound - added) for bound in self._protocol.candidates)
        for group, systems in groups:
            clips = yield from self._clips(group)
            first = next(iter(clips.values()))
            if least <= len(systems) <= most:
                yield self._side_by_side(list(clips.values()))
                continue
            problem = f"{first.values['item_id']} has clips of {len(systems)} systems"
            yield RowProblem(first.row, "system", problem, f"Bring {least} to {most} for each prompt.")

    def _clips(self, group: str) -> Generator[RowProblem, None, dict[str, Cells]]:
        """The clips of a group by system (returned); those that contradict the first about the prompt are problems."""
        rows = self._connection.execute(
            "SELECT system, line, cells FROM clips WHERE grouped = ? ORDER BY number", (group,)
        )
        clips: dict[str, Cells] = {}
        first: Cells | None = None
        for system, line, packed in rows.fetchall():
            cells = Cells(line, pickle.loads(packed))
            if first is None:
                first = cells
            elif differing := _differing(first.values, cells.values):
                problem = f"differs from row {first.row}, which is about the same prompt"
                remedy = "Make it the same on every row of the prompt, or give it another id."
                yield RowProblem(line, differing, problem, remedy)
                continue
            clips[system] = cells
        return clips

    def _side_by_side(self, clips: Sequence[Cells]) -> Cells:
        values: Values = {}
        for cells in clips:
            for name, value in cells.values.items():
                if name not in (*columns.CANDIDATE_FIELDS, "take") and value:
                    values.setdefault(name, value)
        if self._protocol.candidate == "text" and (sound := next((c.values.get("audio") for c in clips), "")):
            values.setdefault("audio", sound)  # what the texts are about
        for letter, cells in zip(columns.candidate_letters(self._protocol), clips, strict=False):
            values |= {
                f"system_{letter}": cells["system"],
                f"{self._judged}_{letter}": cells.values[self._judged],
            }
        return Cells(", ".join(cells.row for cells in clips), values)


def _differing(first: Mapping[str, object], other: Mapping[str, object]) -> str:
    return next(
        (name for name in ITEM_FIELDS if first.get(name) and other.get(name) and first[name] != other[name]),
        "",
    )


def _item_of(cells: Cells) -> str:
    """The prompt's id. Where a table has no column of ids, the prompt itself names it."""
    if "item_id" in cells.values:
        return cells["item_id"]
    prompt = cells["prompt"] or cells["question_text"]
    if len(prompt) <= PROMPT_NAME_LENGTH:
        return prompt
    return f"{prompt[:PROMPT_NAME_LENGTH]}… {text_digest(prompt)}"
