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

from dataclasses import dataclass
from pathlib import Path

from analytics.benchmarks.contract import Benchmark, Choice, Folder, Rating, Units

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


def open_baton(folder: Folder) -> Benchmark:
    units, ratings = Units(), []
    for one in _judged(folder):
        unit = units.number(one.sound, one.text)
        ratings.append(Rating(unit, float(one.preferred), part=f"Baton ({one.events})", cluster=one.text))
    return Benchmark("baton", "Baton", units.all(), ratings=tuple(ratings), left_out=tuple(folder.missing))


def open_baton_pair(folder: Folder) -> Benchmark:
    """Every preferred sound with every rejected one of the same text (AQAScore, section 4.2), in the table's order."""
    units, choices = Units(), []
    judged = _judged(folder)
    of_text: dict[tuple[str, str], list[_Judged]] = {}
    for one in judged:
        of_text.setdefault((one.events, one.text), []).append(one)
    for (events, text), sounds in of_text.items():
        for place, first in enumerate(sounds):
            for second in sounds[place + 1 :]:
                if first.preferred != second.preferred:
                    sides = units.number(first.sound, text), units.number(second.sound, text)
                    human = 1.0 if first.preferred else -1.0
                    choices.append(Choice(*sides, human, (f"Baton-Pair ({events})",), cluster=text))
    return Benchmark(
        "baton-pair", "Baton-Pair", units.all(), choices=tuple(choices), left_out=tuple(folder.missing)
    )


def _judged(folder: Folder) -> list[_Judged]:
    table = folder.file(("baton.csv",))
    given: list[tuple[str, str, str, int]] = []
    for line, row in enumerate(folder.rows(table, columns=_COLUMNS), start=2):
        for column, known in (("events", ("2", "3")), ("preferred", ("0", "1"))):
            if row[column].strip() not in known:
                what = f"{column} is {row[column]!r}, not {' or '.join(known)}"
                raise folder.invalid_row(table, f"line {line}", what)
        vote = 1 if row["preferred"].strip() == "1" else -1
        given.append((row["audio"].strip(), row["text"], row["events"].strip(), vote))
    sounds = {name: folder.sound(name) for name in dict.fromkeys(name for name, *_ in given)}
    folder.check(part="Baton")
    # By where the sound lies: one table may spell its path in two ways.
    votes: dict[tuple[Path, str, str], int] = {}
    for name, text, events, vote in given:
        if (sound := sounds[name]) is not None:
            votes[sound, text, events] = votes.get((sound, text, events), 0) + vote
    return [
        _Judged(sound, text, events, preferred=balance > 0)
        for (sound, text, events), balance in votes.items()
        if balance != 0
    ]
