"""What was heard of each clip, from playback logs: for a block of judgments at once, and for one with an odd log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analytics.data.postgres import BoolArray
from analytics.datasets.columnar import column_bytes, joined_texts
from analytics.datasets.values import plain_number
from annotation.listening.rules.coverage import LONGEST_CLIP_S, read_playback_log, unique_seconds

FIELDS = ("heard_s", "heard_item_s", "switches", "session_s")


def playback_record(log: Mapping[str, Any], *, names: str) -> dict[str, Any]:
    """`heard_s` is by position, for the clips with these letters; `heard_item_s` is of the item's own clips.

    Seconds are unique coverage: what was heard twice counts once. None where nothing was logged, or nonsense was.
    """
    read = read_playback_log(log)
    logged = {} if read.problems else log
    heard = {name: plain_number(round(unique_seconds(spans), 2)) for name, spans in read.heard.items()}
    has_spans = "heard" in logged and bool(names)
    return {
        "heard_s": [heard.get(name, 0) for name in names] if has_spans else None,
        "heard_item_s": {name: heard[name] for name in heard if name not in names} if has_spans else None,
        "switches": read.switches if "switches" in logged else None,
        "session_s": _seconds(logged.get("session_s")),
    }


def _seconds(value: Any) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return plain_number(float(value)) if 0 <= value < 1e9 else None


# The same for a block, from the parts of the logs as PostgreSQL writes JSON. What does not look like this is read one
# by one.

_NUMBER = r"\d+(\.\d+)?"
_HEARD = rf'^\{{("[a-z]+": \[(\[{_NUMBER}, {_NUMBER}\](, )?)*\](, )?)*\}}$'
_SWITCHES = r"^\d{1,6}$"
_SESSION = r"^\d{1,9}(\.\d{0,3}[1-9])?$"
_DIGITS_ALONE = bytes(code if chr(code) in "0123456789." else ord(" ") for code in range(256))


def playback_columns(
    heard: pa.Array, switches: pa.Array, session: pa.Array, names: pa.Array
) -> dict[str, pa.Array]:
    """The FIELDS as JSON. `names`: the letters of the clips in the order shown, a text for each judgment."""
    if all(part.null_count == len(part) for part in (heard, switches, session)):
        return dict.fromkeys(FIELDS, pa.nulls(len(heard), pa.string()))
    names = pc.fill_null(names.cast(pa.string()), "")
    is_plain = [
        pc.fill_null(pc.match_substring_regex(part, pattern), True).to_numpy(zero_copy_only=False)
        for part, pattern in ((heard, _HEARD), (switches, _SWITCHES), (session, _SESSION))
    ]
    plain = np.logical_and.reduce(is_plain)
    with_spans = np.flatnonzero(plain & heard.is_valid().to_numpy(zero_copy_only=False))
    by_position, of_item, in_range = _heard(
        heard.take(pa.array(with_spans)), names.take(pa.array(with_spans))
    )
    plain[with_spans[~in_range]] = False
    place = np.full(len(heard), -1)
    place[with_spans] = np.arange(len(with_spans))
    where = pa.array(place, mask=place < 0)
    columns = dict(
        zip(FIELDS, (by_position.take(where), of_item.take(where), switches, session), strict=True)
    )
    return columns if plain.all() else _with_odd_logs(columns, ~plain, (heard, switches, session), names)


def _with_odd_logs(
    columns: Mapping[str, pa.Array], odd: BoolArray, parts: Sequence[pa.Array], names: pa.Array
) -> dict[str, pa.Array]:
    rows = zip(*(part.filter(pa.array(odd)).to_pylist() for part in (*parts, names)), strict=True)
    records = []
    for *values, letters in rows:
        log = {
            key: json.loads(value)
            for key, value in zip(("heard", "switches", "session_s"), values, strict=True)
            if value is not None
        }
        records.append(playback_record(log, names=letters))
    return {
        field: pc.replace_with_mask(
            column, pa.array(odd), pa.array([_json(record[field]) for record in records], pa.string())
        )
        for field, column in columns.items()
    }


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False, allow_nan=False)


def _heard(cells: pa.Array, names: pa.Array) -> tuple[pa.Array, pa.Array, BoolArray]:
    """Of logs that are all there: seconds by position and of the item's clips, and which have spans that can be."""
    parts = pc.split_pattern(cells, '"')  # a name at every second place, and its spans after it
    lengths = pc.list_value_length(parts).to_numpy(zero_copy_only=False)
    cell_of_part = np.repeat(np.arange(len(cells)), lengths)
    place = np.arange(len(cell_of_part)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    flat = parts.flatten()
    clips, spans = (
        flat.filter(pa.array(place % 2 == 1)),
        flat.filter(pa.array((place % 2 == 0) & (place > 0))),
    )
    cell_of_clip = cell_of_part[place % 2 == 1]
    n_spans = pc.count_substring(spans, "[").to_numpy(zero_copy_only=False) - 1
    digits = bytes(column_bytes(cells)).translate(_DIGITS_ALONE).decode()
    bounds = np.fromstring(digits, sep=" ").reshape(-1, 2) if n_spans.any() else np.empty((0, 2))
    clip_of_span = np.repeat(np.arange(len(clips)), n_spans)
    in_range = np.ones(len(cells), bool)
    in_range[cell_of_clip[clip_of_span[(bounds[:, 0] > bounds[:, 1]) | (bounds[:, 1] > LONGEST_CLIP_S)]]] = (
        False
    )
    seconds = _seconds_texts(_unique_seconds(bounds, clip_of_span, n_spans))

    by_position, shown = pa.nulls(len(cells), pa.string()), np.zeros(len(clips), bool)
    name_of_clip = names.take(pa.array(cell_of_clip))
    for letters in pc.unique(names).to_pylist():
        texts: list[Any] = ["["]
        for letter in letters:
            is_it = pc.and_(pc.equal(clips, letter), pc.equal(name_of_clip, letters)).to_numpy(
                zero_copy_only=False
            )
            shown |= is_it
            which = np.full(len(cells), -1)
            which[cell_of_clip[is_it]] = np.flatnonzero(is_it)
            own = pc.fill_null(seconds.take(pa.array(which, mask=which < 0)), "0")
            texts += [", ", own] if len(texts) > 1 else [own]
        if letters:
            by_position = pc.if_else(pc.equal(names, letters), joined_texts([*texts, "]"]), by_position)
    others = joined_texts(['"', clips, '": ', seconds]).filter(pa.array(~shown))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell_of_clip[~shown], minlength=len(cells)))])
    listed = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), others), ", ")
    of_item = pc.if_else(pc.equal(names, ""), pa.scalar(None, pa.string()), joined_texts(["{", listed, "}"]))
    return by_position, of_item, in_range


def _unique_seconds(bounds: Any, clip_of_span: Any, n_spans: Any) -> Any:
    """As `coverage.unique_seconds`, of every clip at once: the first spans of all, then the second ones, and so on."""
    bounds = bounds[np.lexsort((bounds[:, 1], bounds[:, 0], clip_of_span))]
    covered, reached = np.zeros(len(n_spans)), np.zeros(len(n_spans))
    first = np.cumsum(n_spans) - n_spans
    open_clips = np.flatnonzero(n_spans > 0)
    n = 0
    while len(open_clips):
        start, end = bounds[first[open_clips] + n].T
        covered[open_clips] += np.maximum(0.0, end - np.maximum(start, reached[open_clips]))
        reached[open_clips] = np.maximum(reached[open_clips], end)
        n += 1
        open_clips = open_clips[n_spans[open_clips] > n]
    return covered


def _seconds_texts(seconds: Any) -> pa.Array:
    """To a hundredth, whole numbers without a point. Where it is close, Python decides: it rounds what a number is, and
    numpy what a hundred times the number is."""
    rounded = np.round(seconds, 2)
    close = np.abs(np.modf(seconds * 100)[0] - 0.5) < 1e-4
    rounded[close] = [round(float(one), 2) for one in seconds[close]]
    return pc.replace_substring_regex(pc.cast(pa.array(rounded), pa.string()), r"\.0$", "")
