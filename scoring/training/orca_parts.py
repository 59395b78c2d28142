"""From rated answers to what the network is fed, with a count of those that are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.backbones.answer_texts import worded
from scoring.metrics.contract import ExampleError
from scoring.metrics.orca_heads import LEVELS
from scoring.metrics.orca_reading import prepared
from scoring.training.contract import RatedAnswer, Split, TrainingError
from scoring.training.orca_checks import FEWEST
from scoring.training.orca_loop import Part
from scoring.training.orca_start import Start


def parts_of(
    start: Start, votes: Split[RatedAnswer], options: Mapping[str, Any]
) -> tuple[dict[str, Part], dict[str, int]]:
    """The parts "train" and "dev", and how many answers each goes without: those too long for the model, and of what a
    language model learns from those longer than `longest`."""
    train = _short(start, votes.train, options)
    parts, left_out = {}, {}
    for name, answers, given in (("train", train, votes.train), ("dev", votes.dev, votes.dev)):
        part = _part(start, answers)
        parts[name], left_out[name] = part, len(given) - len(part.prepared)
        if len(part.prepared) < FEWEST[name]:
            raise TrainingError(
                "too_few",
                f"{left_out[name]} of {len(given)} rated answers in {name} are left out because they and what is read "
                f"beside them are too long; an ORCA training needs {FEWEST[name]} at least. Raise longest, read fewer "
                "fields, or use a model that reads more.",
            )
    return parts, left_out


def _short(start: Start, answers: Sequence[RatedAnswer], options: Mapping[str, Any]) -> Sequence[RatedAnswer]:
    longest = options["longest"]
    if start.about.is_built_in or not longest:
        return answers
    about = start.about
    return [
        answer
        for answer in answers
        if len(worded(answer, wording=about.wording, fields=about.fields)) <= longest
    ]


def _part(start: Start, answers: Sequence[RatedAnswer]) -> Part:
    fed = prepared(start.encoder, answers) if answers else []
    kept = [
        (answer, part)
        for answer, part in zip(answers, fed, strict=True)
        if not isinstance(part, ExampleError)
    ]
    ratings = [answer.ratings for answer, _ in kept]
    means = [sum(given) / len(given) for given in ratings]
    return Part(
        prepared=[part for _, part in kept],
        targets=start.head.targets(ratings) if ratings else start.head.targets([(1,)])[:0],
        numbers=np.array([len(given) for given in ratings], np.int64),
        people=(np.array(means, np.float64) - 1) / (LEVELS - 1),
    )
