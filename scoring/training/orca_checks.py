"""Whether rated answers can train a judge, said before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.backbones.answer_texts import wording_fault
from scoring.metrics.registry import OptionError
from scoring.training.contract import RatedAnswer, Split, TrainingError

# Below these there is nothing to choose by: a Spearman of four answers says nothing.
FEWEST = {"train": 20, "dev": 5, "test": 1}
_ABOVE_0 = ("rank", "learning_rate", "steps", "batch", "validate_every", "patience")
_NOT_BELOW_0 = ("longest", "weight_decay", "warmup")
_MORE = "Collect more ratings, or give this part a larger share of the questions."


def check_options(options: Mapping[str, Any]) -> None:
    """Raises OptionError for what the options' kinds cannot tell."""
    if fault := wording_fault(options["input"]):
        raise OptionError("input", fault)
    for name in _ABOVE_0:
        if options[name] is not None and options[name] <= 0:
            raise OptionError(name, "must be more than 0")
    for name in _NOT_BELOW_0:
        if options[name] is not None and options[name] < 0:
            raise OptionError(name, "must not be below 0")


def wants_whole_ratings(options: Mapping[str, Any]) -> bool:
    """Whether only 1, 2, 3, 4 and 5 can be learned from."""
    return bool(options["head"] == "multinomial" or options["edges"] == "cells")


def usable(votes: Split[RatedAnswer], *, whole_ratings: bool) -> Split[RatedAnswer]:
    """The answers with a rating, empty ones among them. Raises TrainingError, with the count and the remedy, where they
    cannot train a judge; `whole_ratings` says that only 1, 2, 3, 4 and 5 are ratings."""
    parts = {"train": votes.train, "dev": votes.dev, "test": votes.test}
    for answers in parts.values():
        _check_scale(answers, whole=whole_ratings)
    found = {name: [answer for answer in answers if answer.ratings] for name, answers in parts.items()}
    for name, fewest in FEWEST.items():
        _check_number(name, found[name], fewest=fewest)
    _check_classes("train", [rating for answer in found["train"] for rating in answer.ratings], "ratings")
    _check_classes(
        "dev", [sum(answer.ratings) / len(answer.ratings) for answer in found["dev"]], "mean ratings"
    )
    return replace(votes, **found)


def _check_scale(answers: Sequence[RatedAnswer], *, whole: bool) -> None:
    off = [(answer.key, rating) for answer in answers for rating in answer.ratings if not 1 <= rating <= 5]
    if off:
        raise TrainingError(
            "off_scale",
            f"{len(off)} ratings are not from 1 to 5, the first {off[0][1]:g} of answer {off[0][0]}. Train on a "
            "question with a five-point scale, or bring the ratings onto one.",
        )
    between = [
        (answer.key, rating) for answer in answers for rating in answer.ratings if rating != int(rating)
    ]
    if whole and between:
        raise TrainingError(
            "not_whole",
            f"{len(between)} ratings lie between two of the five, the first {between[0][1]:g} of answer "
            f"{between[0][0]}. Use head=beta with edges=clamp, which takes them, or round them.",
        )


def _check_number(name: str, rated: Sequence[RatedAnswer], *, fewest: int) -> None:
    if rated and not any(answer.candidate.strip() for answer in rated):
        raise TrainingError(
            "no_text",
            f"All {len(rated)} rated answers in {name} are empty texts. Choose a question about written answers.",
        )
    if len(rated) < fewest:
        raise TrainingError(
            "too_few",
            f"There are {len(rated)} rated answers in {name}; an ORCA training needs {fewest} at least. {_MORE}",
        )


def _check_classes(name: str, values: Sequence[float], what: str) -> None:
    if len(set(values)) == 1:
        raise TrainingError(
            "one_class",
            f"All {len(values)} {what} in {name} are {values[0]:g}: there is nothing to tell apart. {_MORE}",
        )
