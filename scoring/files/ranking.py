"""A folder of candidates through a metric, and which of them it would choose."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from annotation.errors import InvalidInput
from annotation.formulas import defused
from scoring.files.candidates import Group
from scoring.files.scoring import batches, sha256_of
from scoring.files.source import Row, seconds_of
from scoring.metrics.batching import score_each
from scoring.metrics.contract import Example, Fault, Metric, Sound
from scoring.metrics.reranking import best_of, criterion, ranks

FORMATS = (".csv", ".json")


@dataclass(frozen=True)
class Candidate:
    """`value` is what it is ranked by, `readings` all outputs; or there is a fault instead."""

    name: str
    readings: Mapping[str, float]
    value: float | None
    rank: int | None
    fault: Fault | None


@dataclass(frozen=True)
class Ranked:
    """`best` holds, by N, the place of the best of the first N; None where none of them could be scored."""

    group: Group
    candidates: tuple[Candidate, ...]
    best: Mapping[int, int | None]


@dataclass(frozen=True)
class Gain:
    """What choosing among N brings, over the prompts that have one to choose: means of what was chosen, and how many
    prompts have fewer than N candidates."""

    n: int
    value: float | None
    readings: Mapping[str, float]
    n_prompts: int
    n_fewer: int


def rank(
    groups: Sequence[Group],
    metric: Metric,
    *,
    by: Sequence[str],
    ns: Sequence[int],
    on_progress: Callable[[int, int], None],
) -> list[Ranked]:
    """Score all candidates of all prompts. Raises SetupError, and InvalidInput where the scorer has no output that `by`
    names."""
    sounds = _sounds(groups)
    places = [(group, place) for group in groups for place in range(len(group.names))]
    rows = [
        Row(str(key), (group.names[place],), (group.prompt,), (group.paths[place],))
        for key, (group, place) in enumerate(places)
    ]
    found: dict[int, Candidate] = {}
    for batch in batches(rows, {path: sound.seconds for path, sound in sounds.items()}, metric.limits):
        keys = [int(row.id) for row in batch]
        examples = [_example(key, *places[key], sounds) for key in keys]
        for row, outcome in zip(batch, score_each(metric, examples), strict=True):
            readings = {name: reading.value for name, reading in outcome.readings.items()}
            value = None if outcome.fault else _value(readings, by)
            found[int(row.id)] = Candidate(row.audio[0], readings, value, None, outcome.fault)
        on_progress(len(found), len(rows))
    candidates = iter([found[key] for key in range(len(rows))])
    return [_ranked(group, [next(candidates) for _ in group.names], ns) for group in groups]


def gains(ranked: Sequence[Ranked], ns: Sequence[int]) -> list[Gain]:
    return [_gain(ranked, n) for n in ns]


def write(target: Path, ranked: Sequence[Ranked], *, scorer: Mapping[str, Any], ns: Sequence[int]) -> None:
    text = _as_csv(ranked, ns) if target.suffix == ".csv" else _as_json(ranked, scorer, ns)
    try:
        target.write_bytes(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise InvalidInput(f"{target} cannot be written: {error.strerror}. Name another target.") from error


def _value(readings: Mapping[str, float], by: Sequence[str]) -> float:
    try:
        return criterion(readings, by)
    except KeyError as error:
        raise InvalidInput(f"This scorer has no output {error}; it has {', '.join(readings)}.") from error


def _ranked(group: Group, candidates: Sequence[Candidate], ns: Sequence[int]) -> Ranked:
    values = [candidate.value for candidate in candidates]
    placed = tuple(
        Candidate(each.name, each.readings, each.value, rank, each.fault)
        for each, rank in zip(candidates, ranks(values), strict=True)
    )
    return Ranked(group, placed, {n: best_of(values, n) for n in ns})


def _gain(ranked: Sequence[Ranked], n: int) -> Gain:
    chosen = [each.candidates[place] for each in ranked if (place := each.best[n]) is not None]
    outputs = dict.fromkeys(name for candidate in chosen for name in candidate.readings)
    readings = {
        name: fmean(candidate.readings[name] for candidate in chosen if name in candidate.readings)
        for name in outputs
    }
    values = [candidate.value for candidate in chosen if candidate.value is not None]
    n_fewer = sum(len(each.candidates) < n for each in ranked)
    return Gain(n, fmean(values) if values else None, readings, len(chosen), n_fewer)


def _sounds(groups: Sequence[Group]) -> dict[Path, Sound]:
    paths = {path for group in groups for path in group.paths}
    paths |= {group.reference for group in groups if group.reference}
    seconds = seconds_of(paths)
    return {path: Sound(sha256_of(path), path, seconds[path]) for path in sorted(paths)}


def _example(key: int, group: Group, place: int, sounds: Mapping[Path, Sound]) -> Example:
    texts = {"prompt": group.prompt, "lyrics": group.lyrics}
    return Example(
        key,
        (sounds[group.paths[place]],),
        (group.prompt,),
        {name: text for name, text in texts.items() if text},
        sounds[group.reference] if group.reference else None,
    )


def _as_csv(ranked: Sequence[Ranked], ns: Sequence[int]) -> str:
    """A row for each candidate, in the order of the folder; `best_of` names each N that it is the best of."""
    outputs = list(dict.fromkeys(name for each in ranked for one in each.candidates for name in one.readings))
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(
        [
            "group",
            "prompt",
            "audio",
            *map(defused, outputs),
            "criterion",
            "rank",
            "best_of",
            "fault",
            "reason",
        ]
    )
    for each in ranked:
        for place, one in enumerate(each.candidates):
            chosen = " ".join(str(n) for n in ns if each.best[n] == place)
            fault = (one.fault.code, one.fault.message) if one.fault else ("", "")
            named = [defused(text) for text in (each.group.name, each.group.prompt, one.name)]
            scores = [one.readings.get(name, "") for name in outputs]
            writer.writerow(
                [*named, *scores, _or_empty(one.value), _or_empty(one.rank), chosen, *map(defused, fault)]
            )
    return written.getvalue()


def _or_empty(value: float | None) -> float | str:
    return "" if value is None else value


def _as_json(ranked: Sequence[Ranked], scorer: Mapping[str, Any], ns: Sequence[int]) -> str:
    found = {
        "scorer": dict(scorer),
        "gains": [
            {
                "n": gain.n, "criterion": gain.value, "readings": dict(gain.readings),
                "prompts": gain.n_prompts, "prompts_with_fewer": gain.n_fewer,
            }
            for gain in gains(ranked, ns)
        ],
        "prompts": [
            {
                "group": each.group.name, "prompt": each.group.prompt, "lyrics": each.group.lyrics,
                "best_of": {
                    str(n): None if place is None else each.candidates[place].name
                    for n, place in each.best.items()
                },
                "candidates": [
                    {
                        "audio": one.name, "readings": dict(one.readings), "criterion": one.value, "rank": one.rank,
                        "fault": one.fault.code if one.fault else None,
                        "reason": one.fault.message if one.fault else None,
                    }
                    for one in each.candidates
                ],
            }
            for each in ranked
        ],
    }  # fmt: skip
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"
