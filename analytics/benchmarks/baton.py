"""Baton: sounds made from texts with two or three events, each preferred or rejected by people.

Liao et al., IJCAI 2024. The layout of the authors' own download could not be seen, so nothing is assumed of it: this
reads the smallest table it can be brought to, `baton.csv` with the columns

    audio       a path below the folder
    text        what the sound was made from
    events      2 or 3: the two tasks, integrity of two events and order of three
    preferred   1 or 0; a sound may have a row for each person

A sound of which people are divided evenly is neither preferred nor rejected and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from analytics.benchmarks.contract import Choice, Folder, Rating, Units

PUBLISHED = (
    "Baton's data are announced on baton2024.github.io. Bring them into the form of docs/evaluation.md: a baton.csv "
    "with the columns audio, text, events (2 or 3) and preferred (1 or 0), beside the sounds."
)

_COLUMNS = ("audio", "text", "events", "preferred")


@dataclass(frozen=True)
class _Judged:
    sound: Path
    text: str
    events: str
    preferred: bool


def baton_ratings(folder: Folder, units: Units) -> Iterator[Rating]:
    for one in _judged(folder):
        unit = units.number(one.sound, one.text)
        yield Rating(unit, float(one.preferred), parts=(f"Baton ({one.events})",), cluster=one.text)


def baton_pairs(folder: Folder, units: Units) -> Iterator[Choice]:
    """Every preferred sound with every rejected one of the same text (AQAScore, section 4.2), in the table's order."""
    of_text: dict[tuple[str, str], list[_Judged]] = {}
    for one in _judged(folder):
        of_text.setdefault((one.events, one.text), []).append(one)
    for (events, text), sounds in of_text.items():
        for first, second in combinations(sounds, 2):
            if first.preferred != second.preferred:
                sides = units.number(first.sound, text), units.number(second.sound, text)
                human = 1.0 if first.preferred else -1.0
                yield Choice(*sides, human, (f"Baton-Pair ({events})",), cluster=text)


def _judged(folder: Folder) -> list[_Judged]:
    table = folder.file(("baton.csv",))
    votes: list[tuple[str, str, str, int]] = []
    for line, row in enumerate(folder.rows(table, columns=_COLUMNS), start=2):
        for column, known in (("events", ("2", "3")), ("preferred", ("0", "1"))):
            if row[column].strip() not in known:
                what = f"{column} is {row[column]!r}, not {' or '.join(known)}"
                raise folder.invalid_row(table, f"line {line}", what)
        vote = 1 if row["preferred"].strip() == "1" else -1
        votes.append((row["audio"].strip(), row["text"], row["events"].strip(), vote))
    sounds = folder.sounds((name for name, *_ in votes), part="Baton")
    # By where the sound lies: one table may spell its path in two ways.
    balances: dict[tuple[Path, str, str], int] = {}
    for name, text, events, vote in votes:
        if (sound := sounds[name]) is not None:
            balances[sound, text, events] = balances.get((sound, text, events), 0) + vote
    return [
        _Judged(sound, text, events, preferred=balance > 0)
        for (sound, text, events), balance in balances.items()
        if balance != 0
    ]
