"""Whether votes can train a CMI-RM, said before anything is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scoring.metrics.registry import OptionError
from scoring.training.contract import HEADS, MusicVotes, TrainingError

# Below these there is nothing to learn from, or to choose by.
FEWEST_TRAIN, FEWEST_DEV = 10, 2
_ABOVE_0 = ("width", "batch", "learning_rate", "steps", "validate_every", "patience")
_NOT_BELOW_0 = ("prompt_depth", "joint_depth", "weight_decay", "dropout", "first_steps", "smoothing")
_BELOW_1 = ("dropout", "smoothing")
_MORE = "Collect more votes, or give this part a larger share of the prompts."
# As the published model has it: everything is so many times as wide, or this part of it.
WIDTH_STEP = 12


def check_options(options: Mapping[str, Any]) -> None:
    """Raises OptionError for what the options' kinds cannot tell."""
    for name in _ABOVE_0:
        if options[name] is not None and options[name] <= 0:
            raise OptionError(name, "must be more than 0")
    for name in _NOT_BELOW_0:
        if options[name] is not None and options[name] < 0:
            raise OptionError(name, "must not be below 0")
    for name in _BELOW_1:
        if options[name] is not None and options[name] >= 1:
            raise OptionError(name, "must be below 1")
    if options["width"] is not None and options["width"] % WIDTH_STEP:
        raise OptionError("width", f"must be a multiple of {WIDTH_STEP}, such as 96 or 768")


def check_votes(votes: MusicVotes) -> None:
    """Raises TrainingError, with the count and the remedy, where these cannot train a model."""
    _check_ties(votes)
    decided = {"train": _decided(votes, "train"), "dev": _decided(votes, "dev")}
    if not decided["dev"]:
        raise TrainingError(
            "no_dev",
            "There is no decided vote and no rating in dev, which says when to stop. Split the prompts again with a "
            f"share for it; {FEWEST_DEV} pairs or rated clips are the least.",
        )
    for part, fewest in (("train", FEWEST_TRAIN), ("dev", FEWEST_DEV)):
        if decided[part] < fewest:
            raise TrainingError(
                "too_few",
                f"There are {decided[part]} pairs with a decided vote and rated clips in {part}; a CMI-RM training "
                f"needs {fewest} at least. {_MORE}",
            )
    for head in HEADS:
        _check_classes(votes, head)


def _check_ties(votes: MusicVotes) -> None:
    said = [vote.first for pair in votes.pairs.train for head in pair.votes.values() for vote in head]
    if said and set(said) == {0.5} and not votes.rated.train:
        raise TrainingError(
            "all_ties",
            f"All {len(said)} votes in train are ties, and a tie teaches nothing of which sound is better. Collect "
            "votes on pairs that differ more, or rate the clips.",
        )


def _decided(votes: MusicVotes, part: str) -> int:
    pairs, clips = getattr(votes.pairs, part), getattr(votes.rated, part)
    return sum(
        any(vote.first != 0.5 for head in HEADS for vote in pair.votes.get(head, ())) for pair in pairs
    ) + sum(any(clip.ratings.get(head) for head in HEADS) for clip in clips)


def _check_classes(votes: MusicVotes, head: str) -> None:
    sides = [
        vote.first for pair in votes.pairs.train for vote in pair.votes.get(head, ()) if vote.first != 0.5
    ]
    ratings = [rating for clip in votes.rated.train for rating in clip.ratings.get(head, ())]
    _check_scale(ratings, head)
    if ratings and not sides and len(set(ratings)) == 1:
        raise TrainingError(
            "one_class",
            f"All {len(ratings)} ratings of {head} in train are {ratings[0]:g}: there is nothing to tell apart. "
            f"{_MORE}",
        )
    if sides and not ratings and len(set(sides)) == 1:
        first = sides[0] == 1
        raise TrainingError(
            "one_class",
            f"All {len(sides)} decided votes on {head} in train are for the {'first' if first else 'second'} sound, "
            "as the pairs are listed, whatever was heard. Where these were imported, look whether votes and sounds "
            "came from the right columns; else collect votes on pairs whose first sound is not always the better one.",
        )


def _check_scale(ratings: Sequence[float], head: str) -> None:
    off = [rating for rating in ratings if not 1 <= rating <= 5]
    if off:
        raise TrainingError(
            "off_scale",
            f"{len(off)} ratings of {head} are not from 1 to 5, the first is {off[0]:g}. Train on a question with a "
            "five-point scale, or bring the ratings onto one.",
        )
