"""The stages of one training: what scorers said first, where that is wanted, and then what people said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analytics.services.training_material import Parts
from scoring.services.opened import workplace
from scoring.training import catalogue
from scoring.training.contract import MusicVotes, RatedAnswer, Split, Trained, Watch
from scoring.training.orca_checks import wants_whole_ratings


def trained(
    kind: str, parts: Parts, options: Mapping[str, Any], *, seed: int, work: Path, watch: Watch
) -> Trained:
    """A model of music has both stages in one training; a judge of answers is trained twice, the second time from where
    the first ended. Raises what a contract.Train does."""
    train = catalogue.training(kind)
    how: dict[str, Any] = {"seed": seed, "workplace": workplace()}
    learning = parts.learning
    if not parts.first:
        return train(learning, options, work=work, watch=watch, **how)
    if isinstance(learning, MusicVotes):
        return train(replace(learning, pseudo=parts.first), options, work=work, watch=watch, **how)
    first = _whole(parts.first) if wants_whole_ratings(options) else parts.first
    judged = Split(first, learning.dev, learning.test)
    judge = train(judged, options, work=work / "first", watch=watch, **how)
    then = {**options, "start_from": str(judge.folder)}
    return train(learning, then, work=work, watch=_Later(watch, after=int(judge.record["steps"])), **how)


def _whole(answers: Sequence[RatedAnswer]) -> list[RatedAnswer]:
    """The rating nearest to each score: a scorer's means lie between what people can say."""
    return [
        replace(answer, ratings=tuple(float(round(rating)) for rating in answer.ratings))
        for answer in answers
    ]


@dataclass(frozen=True)
class _Later:
    """The watch of a second stage, whose curves run on where those of the first end."""

    watch: Watch
    after: int

    def progress(self, done: int, total: int, *, stage: str) -> None:
        self.watch.progress(done, total, stage=stage)

    def point(self, curve: str, step: int, value: float) -> None:
        self.watch.point(curve, self.after + step, value)

    def taken_up(self, step: int) -> None:
        self.watch.taken_up(self.after + step)
