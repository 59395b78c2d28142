"""RELATE: relevance of text and sound, rated from 0 to 10 by about four listeners each.

Kanamori et al., Interspeech 2025. Layout as in the authors' repository (sarulab-speech/RELATE: `scores/REL.csv` with
the columns wavname, text, score, listener_id, audio type, anchor label, in RELATE dataset, in AudioCaps) and their
RELATE_wave.zip (`<model>/<split>/<number>.wav`). A wavname is such a path, in one version of the table with /wav before
it. AQAScore (section 4.2) takes the rows whose `in RELATE dataset` is "test" and averages the scores of each pair of
sound and text; anchors and screened listeners are marked "excluded" there and drop out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from analytics.benchmarks.contract import Choice, Folder, Rating, Units

PUBLISHED = (
    "RELATE is published as sarulab-speech/RELATE on GitHub (scores/REL.csv); its README links the sounds, "
    "RELATE_wave.zip, to be unpacked into the same folder."
)
# AQAScore, section 4.2: pairs count whose human scores differ by more than two points.
APART = 2

_SPLIT = "in RELATE dataset"
_COLUMNS = ("wavname", "text", "score", _SPLIT)

# The mean score of each sound and text of the test set, exactly: a difference of two is not more than two.
Means = Mapping[tuple[Path, str], Fraction]


def relate_ratings(folder: Folder, units: Units) -> Iterator[Rating]:
    for (sound, text), mean in _means(folder).items():
        yield Rating(units.number(sound, text), float(mean), parts=("RELATE",), cluster=text)


def relate_pairs(folder: Folder, units: Units) -> Iterator[Choice]:
    """All pairs of sounds of one text whose mean scores differ by more than two points, in the order of the table."""
    of_text: dict[str, list[tuple[Path, Fraction]]] = {}
    for (sound, text), mean in _means(folder).items():
        of_text.setdefault(text, []).append((sound, mean))
    for text, sounds in of_text.items():
        for (first, mean), (second, other) in combinations(sounds, 2):
            if abs(mean - other) > APART:
                sides = units.number(first, text), units.number(second, text)
                yield Choice(*sides, float(mean - other), ("RELATE-Pair",), cluster=text)


def _means(folder: Folder) -> Means:
    table = folder.file(("scores/REL.csv", "RELATE/scores/REL.csv", "REL.csv"))
    rated: list[tuple[str, str, Fraction]] = []
    for line, row in enumerate(folder.rows(table, columns=_COLUMNS), start=2):
        if row[_SPLIT].strip().lower() != "test":
            continue
        try:
            score = _number(row["score"])
        except ValueError:
            raise folder.invalid_row(
                table, f"line {line}", f"the score {row['score']!r} is no number"
            ) from None
        rated.append((row["wavname"].lstrip("/").removeprefix("wav/"), row["text"], score))
    if not rated:
        raise folder.invalid(f"has a {table.name} in which {_SPLIT!r} is nowhere 'test'")
    sounds = folder.sounds((place for place, _text, _score in rated), part="RELATE")
    # By where the sound lies: one table may spell its path in two ways.
    scores: dict[tuple[Path, str], list[Fraction]] = {}
    for place, text, score in rated:
        if (sound := sounds[place]) is not None:
            scores.setdefault((sound, text), []).append(score)
    return {unit: sum(each, Fraction(0)) / len(each) for unit, each in scores.items()}


def _number(written: str) -> Fraction:
    """Raises ValueError where it is none; a fraction such as 1/0 is not a score either."""
    if not math.isfinite(float(written)):
        raise ValueError(written)
    return Fraction(written.strip())
