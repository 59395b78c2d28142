"""Fusion of judges of the same answers (ORCA §5.6): weights fitted on the training split and calibrations on the
development split, measured on the test split, beside each judge, their mean and the fusion without each of them.

What is fitted is people's mean rating of an answer, from 0 to 1. The paper says that weights are optimised on the
training set and applied to scores calibrated on the development set, and no more; `aggregation` says what that is here.

Only answers with people's ratings and a score of every judge count, in each split; all others are counted as left out.
The test split chooses nothing: the best single judge is the one with the highest Spearman on train and dev together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.statistics.arrays import FloatArray
from analytics.statistics.bootstrap import (
    DEFAULT_RESAMPLING,
    Estimate,
    Resampling,
    number_clusters,
    percentile_interval,
    undefined_estimate,
)
from analytics.statistics.correlation import correlations, spearman, undefined_reason
from analytics.statistics.judges.accuracy import absolute_error
from analytics.statistics.judges.aggregation import Aggregation, learned_weights, simple_mean
from analytics.statistics.judges.paired_difference import PairedDifference, rank_difference

PARTS = ("train", "dev", "test")
FUSION, MEAN = "fusion", "mean"
_FEWEST = 3
_SHOWN = 3

SENTENCES = {
    "off_scale": "Its scores are not from 0 to 1, so they have no distance to people's ratings before calibration.",
    "few_on_scale": "Fewer than two judges have scores from 0 to 1, so there is no mean of them.",
    "one_judge": "There is no other judge.",
    "few_clusters": "All answers of train or of dev belong to one question, so weights have no interval.",
}


class FusionError(ValueError):
    """These scores cannot be fused; the message names the split, judge or answer, and the remedy."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """The answers of one split. names: of the answers. questions: what answers that are not independent share. human:
    (answers,) mean ratings from 0 to 1. scores: (answers, judges). NaN where there is none."""

    names: Sequence[str]
    questions: Sequence[str]
    human: FloatArray
    scores: FloatArray

    @property
    def complete(self) -> np.ndarray:
        return np.isfinite(self.scores).all(axis=1) & np.isfinite(self.human)

    def select(self, rows: np.ndarray) -> JudgedAnswers:
        """rows: indices, in which a row may be repeated, or a mask."""
        places = np.arange(len(self.names))[rows]
        return JudgedAnswers(
            [self.names[at] for at in places],
            [self.questions[at] for at in places],
            self.human[rows],
            self.scores[rows],
        )

    def judges(self, chosen: Sequence[int]) -> JudgedAnswers:
        return JudgedAnswers(self.names, self.questions, self.human, self.scores[:, list(chosen)])


@dataclass(frozen=True)
class PartCounts:
    """answers = used + left out, for want of people's ratings (`unrated`) or of a judge's score. missing: by judge the
    rated answers without a score of it."""

    answers: int
    used: int
    unrated: int
    missing: Mapping[str, int]


@dataclass(frozen=True)
class JudgeWeight:
    """intercept + slope * score is the judge's calibrated score, cut to [0, 1]. weight: not negative, all summing to 1;
    its interval from resampled questions of train and of dev, calibrated and fitted anew. is_constant: on dev, where
    its calibrated score is then people's mean rating, whatever it says."""

    judge: str
    weight: Estimate
    slope: float
    intercept: float
    is_constant: bool


@dataclass(frozen=True)
class TestFigures:
    """On the test split. calibrated_mae: of a single judge after its calibration; of others the same as `mae`.
    less: Spearman's difference, this less the fusion of all."""

    name: str
    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    mae: Estimate
    calibrated_mae: Estimate
    less: PairedDifference | None


@dataclass(frozen=True)
class Fusion:
    """without: the fusion of all judges but the one named, fitted anew. best: the name of the best single judge."""

    weights: tuple[JudgeWeight, ...]
    counts: Mapping[str, PartCounts]
    judges: tuple[TestFigures, ...]
    mean: TestFigures
    fusion: TestFigures
    without: tuple[TestFigures, ...]
    best: str
    averaged: tuple[str, ...]
    predictions: Mapping[str, float]


def fuse(
    judges: Sequence[str],
    parts: Mapping[str, JudgedAnswers],
    *,
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Fusion:
    """parts: train, dev and test. Raises FusionError where these splits and scores cannot be fused."""
    _check(judges, parts)
    counts = {name: _counts(judges, part) for name, part in parts.items()}
    used = {name: part.select(part.complete) for name, part in parts.items()}
    _check_enough(judges, counts)
    fitted = _fit(used)
    averaged = [at for at in range(len(judges)) if _on_scale(parts, at)]
    fused = fitted(used["test"].scores)
    measured = _Measured(used["test"], fused, resampling)
    without: tuple[TestFigures, ...] = ()
    if len(judges) > 1:
        without = tuple(
            measured(f"without {name}", _left_one_out(used, at)) for at, name in enumerate(judges)
        )
    return Fusion(
        weights=_weights(judges, used, fitted, resampling),
        counts=counts,
        judges=tuple(
            measured(
                name,
                used["test"].scores[:, at],
                calibrated=fitted.calibrated(used["test"].scores)[:, at],
                on_scale=at in averaged,
            )
            for at, name in enumerate(judges)
        ),
        mean=measured.mean(averaged),
        fusion=measured(FUSION, fused),
        without=without,
        best=judges[_best(used)],
        averaged=tuple(judges[at] for at in averaged),
        predictions=dict(zip(used["test"].names, fused.tolist(), strict=True)),
    )


# What cannot be fused.


def _check(judges: Sequence[str], parts: Mapping[str, JudgedAnswers]) -> None:
    if lacking := [name for name in PARTS if name not in parts or not len(parts[name].names)]:
        raise FusionError(
            "no_part",
            f"There are no answers in {lacking[0]}. Weights need train, dev and test: name each answer's split.",
        )
    if twice := [name for name, n in Counter(judges).items() if n > 1]:
        raise FusionError("same_judge", f"Two judges are called {twice[0]!r}. Give every judge its own name.")
    for what, of in (("answer", "names"), ("question", "questions")):
        first: dict[str, str] = {}
        shared: dict[str, tuple[str, str]] = {}
        for part in PARTS:
            for name in dict.fromkeys(getattr(parts[part], of)):
                if first.setdefault(name, part) != part:
                    shared[name] = (first[name], part)
        if shared:
            shown = ", ".join(
                f"{name!r} ({one} and {other})" for name, (one, other) in list(shared.items())[:_SHOWN]
            )
            raise FusionError(
                "overlap",
                f"The splits overlap: {len(shared):,} {what}{'s lie' if len(shared) > 1 else ' lies'} in two of them, "
                f"{shown}. Put all answers to a question into one split.",
            )
    for at, judge in enumerate(judges):
        for part in PARTS:
            if not np.isfinite(parts[part].scores[:, at]).any():
                raise FusionError(
                    "no_predictions",
                    f"{judge} has no score of any answer in {part}. Score {part} with it, or leave it out.",
                )


def _counts(judges: Sequence[str], part: JudgedAnswers) -> PartCounts:
    rated = np.isfinite(part.human)
    missing = {name: int((rated & ~np.isfinite(part.scores[:, at])).sum()) for at, name in enumerate(judges)}
    return PartCounts(len(part.names), int(part.complete.sum()), int((~rated).sum()), missing)


def _check_enough(judges: Sequence[str], counts: Mapping[str, PartCounts]) -> None:
    for part in PARTS:
        fewest = max(_FEWEST, len(judges) + 1) if part == "train" else _FEWEST
        if (one := counts[part]).used < fewest:
            worst = max(one.missing, key=lambda name: one.missing[name])
            most = f"; {worst} lacks {one.missing[worst]:,}" if one.missing[worst] else ""
            raise FusionError(
                "too_few",
                f"{one.used:,} of {one.answers:,} answers in {part} have people's ratings and a score of each of the "
                f"{len(judges)} judges{most}; {fewest} are needed. Score more answers, or leave a judge out.",
            )


# Fitting.


def _fit(parts: Mapping[str, JudgedAnswers]) -> Aggregation:
    train, dev = parts["train"], parts["dev"]
    learned = learned_weights(train.scores, train.human, dev.scores, dev.human)
    if learned.aggregation is None:
        raise ValueError(learned.reason)
    return learned.aggregation


def _left_one_out(parts: Mapping[str, JudgedAnswers], out: int) -> FloatArray:
    others = [at for at in range(parts["test"].scores.shape[1]) if at != out]
    reduced = {name: part.judges(others) for name, part in parts.items()}
    return _fit(reduced)(reduced["test"].scores)


def _weights(
    judges: Sequence[str], parts: Mapping[str, JudgedAnswers], fitted: Aggregation, resampling: Resampling
) -> tuple[JudgeWeight, ...]:
    train, dev = parts["train"], parts["dev"]
    rng = np.random.default_rng(resampling.seed)
    drawers = [_drawer(part, rng) for part in (train, dev)]
    intervals: list[tuple[float, float] | None] = [None] * len(judges)
    reason: str | None = "one_judge" if len(judges) == 1 else "few_clusters"
    clusters = len(set(train.questions))
    if len(judges) > 1 and all(drawers):
        drawn = np.empty((resampling.replicates, len(judges)))
        for row in drawn:
            here, there = (
                part.select(draw()) for part, draw in zip((train, dev), drawers, strict=True) if draw
            )
            row[:] = _fit({"train": here, "dev": there}).weight
        intervals = [percentile_interval(column, resampling.level) for column in drawn.T]
        reason = None
    spread = np.ptp(dev.scores, axis=0)
    return tuple(
        JudgeWeight(
            name,
            Estimate(
                float(fitted.weight[at]), intervals[at], len(train.names), clusters, reason, resampling.level,
                0 if reason else resampling.replicates,
            ),
            float(fitted.slope[at]),
            float(fitted.intercept[at]),
            bool(spread[at] <= 1e-13 * np.abs(dev.scores[:, at]).max()),
        )
        for at, name in enumerate(judges)
    )  # fmt: skip


def _drawer(part: JudgedAnswers, rng: np.random.Generator) -> Callable[[], np.ndarray] | None:
    """Draws the rows of as many questions as there are, with replacement; None where there is one question."""
    clusters = number_clusters(part.questions, n=len(part.names))
    groups = int(clusters.max()) + 1
    rows = np.arange(len(clusters))
    if groups < 2:
        return None

    def draw() -> np.ndarray:
        times = np.bincount(rng.integers(groups, size=groups), minlength=groups)
        return np.repeat(rows, times[clusters])

    return draw


# Figures on the test split.


@dataclass(frozen=True, eq=False)
class _Measured:
    test: JudgedAnswers
    fused: FloatArray
    resampling: Resampling

    def __call__(
        self, name: str, scores: FloatArray, *, calibrated: FloatArray | None = None, on_scale: bool = True
    ) -> TestFigures:
        human, clusters = self.test.human, list(self.test.questions)
        three = correlations(scores, human, clusters=clusters, resampling=self.resampling)
        mae = undefined_estimate("off_scale", n=len(human), resampling=self.resampling)
        if on_scale:
            mae = absolute_error(scores, human, clusters=clusters, resampling=self.resampling).error
        after = mae
        if calibrated is not None:
            after = absolute_error(calibrated, human, clusters=clusters, resampling=self.resampling).error
        less = None
        if name != FUSION:
            less = rank_difference(scores, self.fused, human, clusters=clusters, resampling=self.resampling)
        return TestFigures(name, three.lcc, three.srcc, three.ktau, mae, after, less)

    def mean(self, averaged: Sequence[int]) -> TestFigures:
        if len(averaged) > 1:
            return self(MEAN, simple_mean(self.test.scores[:, list(averaged)]))
        nothing = undefined_estimate("few_on_scale", n=len(self.test.names), resampling=self.resampling)
        return TestFigures(MEAN, nothing, nothing, nothing, nothing, nothing, None)


def _on_scale(parts: Mapping[str, JudgedAnswers], at: int) -> bool:
    columns = [part.scores[:, at] for part in parts.values()]
    return all(np.nanmin(column) >= 0 and np.nanmax(column) <= 1 for column in columns)


def _best(parts: Mapping[str, JudgedAnswers]) -> int:
    human = np.concatenate([parts["train"].human, parts["dev"].human])
    scores = np.concatenate([parts["train"].scores, parts["dev"].scores])
    return int(np.argmax([_spearman(column, human) for column in scores.T]))


def _spearman(scores: FloatArray, human: FloatArray) -> float:
    """-2 where it is undefined, so that such a judge is the best of none."""
    if undefined_reason(scores, human):
        return -2.0
    return float(spearman(scores, human)(np.ones((1, len(human))))[0])
