"""What whoever asks for a training set decides, and what each choice means. The data card prints these meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

GROUPS = ("prompt", "question", "clip")
ORIGINS = ("rated", "imported", "simulated")
MOST_SEED = 2**31 - 1
MOST_RATIO = 1_000_000

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "texts": {
        "corrected": "Items as they are now, with the votes that count now.",
        "original": "Items as they were before any correction, with the votes given on them, those included that a "
        "correction has set aside since.",
        "both": "Items before and after their correction, each with its own votes. They are never in two splits.",
    },
    "ties": {
        "drop": "A tie, and “both bad”, is no vote: it counts for neither side, and not among the votes.",
        "half": "A tie, and “both bad”, is half a vote for each side.",
        "both-directions": "Half a vote for each side; a pair that is undecided after that stands there twice, once "
        "in each direction, with a margin of zero.",
        "keep": "Ties stay what they are.",
    },
    "weights": {
        "equal": "Every vote weighs the same.",
        "agreement": "A vote weighs what its rater's agreement with the others is worth (see below).",
    },
    "confidence": {
        "column": "Confidence is told and changes nothing else.",
        "weight": "A vote's weight is multiplied by its confidence over the mean confidence of the training split; a "
        "vote without one is left as it is.",
    },
    "margin": {
        "log-odds": "The logarithm of p / (1 - p), with p the smoothed share of votes for the chosen side: the "
        "difference of rewards at which the Bradley-Terry model gives that share.",
        "votes": "The smoothed share of votes for the chosen side less that for the other: from 0 to 1.",
    },
    "rows": {
        "votes": "A row per vote.",
        "aggregate": "A row per pair: the side with more votes; both where neither has; the mean confidence.",
    },
}


class TrainingSetError(Exception):
    """This set cannot be made. The message says why and what mends it; `code` is a word for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Options:
    """An empty text or tuple stands for what is usual for the format, or for all.

    groups: what may not lie in two splits besides the item itself. ratios: train, dev, test. smoothing: votes that are
    added to each side before a share is formed. min_votes: of a task, by question. hold_out_systems: in train and dev
    nothing has a part of theirs. audio: the sounds themselves go with it.
    """

    format: str
    file: str = ""
    questions: tuple[str, ...] = ()
    texts: str = "corrected"
    votes: tuple[str, ...] = ("rated", "imported")
    ties: str = ""
    min_votes: int = 1
    weights: str = "equal"
    confidence: str = "column"
    margin: str = "log-odds"
    smoothing: float = 0.5
    rows: str = ""
    groups: tuple[str, ...] = GROUPS
    hold_out_systems: tuple[str, ...] = ()
    ratios: tuple[float, float, float] = (8, 1, 1)
    seed: int = 0
    audio: bool = False

    def __post_init__(self) -> None:
        for name in ("texts", "weights", "confidence", "margin"):
            _refuse_unknown(name, getattr(self, name), tuple(MEANINGS[name]))
        for one in self.votes:
            _refuse_unknown("votes", one, ORIGINS)
        for one in self.groups:
            _refuse_unknown("group", one, GROUPS)
        if not self.votes:
            raise TrainingSetError("bad_votes", f"Name whose votes: {', '.join(ORIGINS)}.")
        # So asked, NaN, which is neither below nor above, is refused with the rest.
        in_range = all(0 <= share <= MOST_RATIO for share in self.ratios)
        if len(self.ratios) != 3 or not in_range or not self.ratios[0]:
            raise TrainingSetError(
                "bad_ratios",
                "Ratios are three numbers from 0 to a million, train:dev:test, as in 8:1:1; train is above 0.",
            )
        if self.min_votes < 1 or not 0 < self.smoothing <= 100 or not 0 <= self.seed <= MOST_SEED:
            raise TrainingSetError(
                "bad_number",
                "The fewest votes are 1 or more, the smoothing is above 0 and at most 100, and the seed from 0 to "
                f"{MOST_SEED}.",
            )

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Options:
        """From JSON, as a job keeps it."""
        known = {one.name for one in fields(cls)}
        chosen: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in said.items()
            if name in known
        }
        return cls(**chosen)

    def as_json(self) -> dict[str, Any]:
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _refuse_unknown(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise TrainingSetError(f"bad_{name}", f"{value!r} is not a choice of {name}; use {', '.join(known)}.")
