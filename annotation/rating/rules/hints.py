"""Hints, model predictions shown to raters: settings, the random draw that withholds them (anchoring), and the numbers
to show.

Raters see no scores unless a study wants it. Where it does, what a model said of a task is kept from a random share of
those who judge it, so that what showing does to their answers can be told (`analytics.statistics.raters.anchoring`).

A hint is {"scorer": name, "answers": {question key: prediction}}. Of a preference, it is the chance that people prefer
the candidate in slot 0; of a rating, the rating to be expected, or a list of them by slot where each candidate is
rated. What an assignment keeps of it names the share that was not shown then, too ("withheld"): votes can only be
compared under one share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.protocols import Protocol, QuestionSpec
from annotation.rating.rules.counterbalancing import candidate_labels
from annotation.studies.settings import all_values, from_stored, setting
from annotation.studies.settings import gettext_noop as _

# A scale this wide is read in whole numbers.
_WIDE = 20.0
# What a model is sure of may still be wrong.
_SUREST = 99


@dataclass(frozen=True)
class Hints:
    """A study's settings. `scorer`: its name, or the digest of one version. `withheld`: the share not shown."""

    scorer: str = setting(
        "",
        label=_("Show raters a model's prediction"),
        max_length=64,
        message="Give a scorer's name or the digest of one of its versions.",
    )
    withheld: float = setting(
        0.1,
        label=_("Share of tasks without the prediction (control group), in %"),
        help_text=_(
            "Drawn at random for each rater and task. The control group measures the effect of the "
            "prediction (anchoring)."
        ),
        least=0.1,
        most=0.9,
        percent=True,
        message="Give a share from {least:g} to {most:g} that is not shown.",
    )


def settings(rules: Mapping[str, Any]) -> Hints | None:
    """From a study's `rules`; None where it shows nothing."""
    stored = rules.get("hints", {})
    return from_stored(Hints, stored) if stored.get("scorer") else None


def as_json(rules: Mapping[str, Any]) -> dict[str, Any]:
    return all_values(Hints, rules.get("hints", {}))


def eligible_questions(protocol: Protocol) -> list[QuestionSpec]:
    """Those that a hint can be about. None where two clips of a task are one sound: equal numbers would tell which."""
    if protocol.repeats_a_sound:
        return []
    return [spec for spec in protocol.questions if _compares(protocol, spec) or _rates(protocol, spec)]


def _compares(protocol: Protocol, spec: QuestionSpec) -> bool:
    return spec.kind == "preference" and bool(spec.level) and protocol.candidates == (2, 2)


def _rates(protocol: Protocol, spec: QuestionSpec) -> bool:
    measured = spec.kind == "rating" and spec.level not in ("", "nominal")
    return measured and (spec.per_candidate or protocol.candidates == (1, 1)) and scale(spec) is not None


def scale(spec: QuestionSpec) -> tuple[float, float] | None:
    """The least and the greatest rating; None on a scale without ends."""
    if spec.values:
        return min(spec.values), max(spec.values)
    return None if spec.minimum is None or spec.maximum is None else (spec.minimum, spec.maximum)


def is_hint_shown(withheld: float, *, seed: int, rater_id: int, task_id: int) -> bool:
    """Whether this rater sees what the model says of this task: always the same, so that giving a task back and getting
    it again draws nothing anew."""
    digest = hashlib.sha256(f"{seed}:hint:{rater_id}:{task_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2.0**64 >= withheld


def hint_as_shown(
    hint: Mapping[str, Any], protocol: Protocol, presentation: Sequence[int]
) -> list[dict[str, Any]]:
    """A hint in numbers to show, as the rater sees the task's sides, in the order of the questions.

    Of a preference: `side` (A or B; None where it is even) and `percent`, the chance of that side. Of a rating:
    `value`, or `values` by position, None where the model said nothing of a candidate.
    """
    answers = hint["answers"]
    return [
        {"question": spec.key, **_prediction_as_shown(spec, answers[spec.key], protocol, presentation)}
        for spec in eligible_questions(protocol)
        if spec.key in answers
    ]


def _prediction_as_shown(
    spec: QuestionSpec, predicted: Any, protocol: Protocol, presentation: Sequence[int]
) -> dict[str, Any]:
    if spec.kind == "preference":
        first = predicted if presentation[0] == 0 else 1 - predicted
        percent = min(round(100 * max(first, 1 - first)), _SUREST)
        side = candidate_labels(protocol.layout)[0 if first > 0.5 else 1]
        return {"side": None if percent == 50 else side, "percent": percent}
    if spec.per_candidate:
        return {"values": [_rounded(spec, predicted[slot]) for slot in presentation]}
    return {"value": _rounded(spec, predicted)}


def _rounded(spec: QuestionSpec, value: float | None) -> float | None:
    ends = scale(spec)
    wide = ends is not None and ends[1] - ends[0] >= _WIDE
    return None if value is None else round(value, 0 if wide else 1)
