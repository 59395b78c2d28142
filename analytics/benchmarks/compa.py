"""CompA: pairs of sounds and captions made of the same events, in another order or with attributes swapped.

Ghosh et al., ICLR 2024. Layout of the authors' archives (linked from Sreyan88/CompA on GitHub) as their
evaluation/benchmark_eval.py reads them: a table with the columns pair_file, pair_caption, reversed_pair_file,
reversed_pair_caption, and a folder of sounds; the names CompA_order_benchmark.csv and Compa-Attribute.csv were seen in
public loaders. In the attribute table the file columns occur twice; the one whose sounds are there is taken. Some rows
of CompA-order hold a third sound and caption (triplet_file, triplet_caption): the authors' evaluation takes two and
two, and so does this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from analytics.benchmarks.contract import Folder, Square, Units

PUBLISHED = "CompA-order and CompA-attribute are linked from the README of Sreyan88/CompA on GitHub."

PARTS = {"order": "CompA-Order", "attribute": "CompA-Attribute"}

_FILES = ("pair_file", "reversed_pair_file")
_CAPTIONS = ("pair_caption", "reversed_pair_caption")


def compa_squares(folder: Folder, units: Units, parts: Iterable[str] = PARTS) -> Iterator[Square]:
    for kind in parts:
        for sounds, texts in _pairs(folder, kind):
            square = tuple(tuple(units.number(sound, text) for text in texts) for sound in sounds)
            yield Square(square, PARTS[kind])


def _pairs(folder: Folder, kind: str) -> list[tuple[list[Path], list[str]]]:
    rows = folder.rows(folder.named(".csv", (kind,)), columns=(*_FILES, *_CAPTIONS))
    columns = [_column_with_sounds(folder, rows, name) for name in _FILES]
    pairs = []
    for row in rows:
        sounds = [folder.sound(row[column].strip()) for column in columns]
        in_folder = [sound for sound in sounds if sound is not None]
        if len(in_folder) == len(sounds):
            pairs.append((in_folder, [row[caption] for caption in _CAPTIONS]))
    folder.check(part=PARTS[kind])
    return pairs


def _column_with_sounds(folder: Folder, rows: Sequence[dict[str, str]], name: str) -> str:
    twice = f"{name}.1"
    if not rows or twice not in rows[0]:
        return name
    return max(
        (name, twice), key=lambda column: sum(folder.holds(row.get(column, "").strip()) for row in rows)
    )
