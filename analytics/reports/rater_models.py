"""Models of raters on the votes of one question: which model suits it, and the labels it gives to what was judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analytics.data.votes import NOBODY, Votes
from analytics.statistics.arrays import IntArray
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters import category_models, ordinal_model, pair_model
from analytics.statistics.raters.category_models import CategoryModel
from analytics.statistics.raters.ordinal_model import OrdinalModel
from analytics.statistics.raters.pair_model import PairModel
from annotation.models import Answer, Item, Study, Task

# Below these a model says nothing that the votes do not.
LEAST_RATERS, LEAST_UNITS = 3, 10
MOST_CATEGORIES, MOST_POINTS = 12, 11
# Beyond so many votes a model's intervals would take minutes: the estimates come without.
MOST_VOTES_WITH_INTERVALS = 200_000


@dataclass(frozen=True, eq=False)
class QuestionModel:
    """Models of a question's counted votes by named raters. units: the row of `votes.units` of each unit that was
    fitted; raters: their pseudonyms; classes: the values that categories stand for; systems: the row of
    `votes.systems` of each system compared. majority: (units,) the category with most votes."""

    votes: Votes
    units: IntArray
    raters: tuple[str, ...]
    classes: tuple[float, ...] = ()
    majority: IntArray | None = None
    categories: CategoryModel | None = None
    mace: CategoryModel | None = None
    systems: tuple[int, ...] = ()
    pairs: PairModel | None = None
    ordinal: OrdinalModel | None = None

    @property
    def converged(self) -> bool:
        return all(
            one is None or one.converged for one in (self.categories, self.mace, self.pairs, self.ordinal)
        )


def fit_question(votes: Votes, *, resampling: Resampling | None = None) -> QuestionModel | None:
    """The models that suit the question; None where none does, or there are too few votes. With `resampling` also
    intervals of the raters' reliabilities."""
    question = votes.question
    counted = votes.counted()
    counted = counted.select(np.flatnonzero((counted.rater != NOBODY) & ~counted.again))
    if question.is_ranking or not len(counted):
        return None
    units, unit = np.unique(counted.unit, return_inverse=True)
    raters, rater = np.unique(counted.rater, return_inverse=True)
    if len(raters) < LEAST_RATERS or len(units) < LEAST_UNITS or len(counted) < 1.5 * len(units):
        return None
    if len(counted) > MOST_VOTES_WITH_INTERVALS:
        resampling = None
    names = tuple(votes.raters[one] for one in raters.tolist())
    model = QuestionModel(votes, units, names)
    values = np.unique(counted.value)
    if question.is_rating and question.level != "nominal":
        points = np.array(sorted(question.points))
        if not 2 < len(points) <= MOST_POINTS or len(values) < 2:
            return None  # the section on severity has the additive model of scales without points
        fitted = ordinal_model.ordinal_severities(unit, rater, counted.value, points=points)
        return replace(model, ordinal=fitted)
    if not 2 <= len(values) <= MOST_CATEGORIES:
        return None
    prompts = votes.units.prompt[units]
    label = np.searchsorted(values, counted.value)
    labelled = category_models.Votes.of(unit, rater, label, n_classes=len(values))
    skene, mace = (
        fit(labelled) if resampling is None
        else category_models.with_intervals(fit, labelled, clusters=prompts, resampling=resampling)
        for fit in (category_models.dawid_skene, category_models.mace)
    )  # fmt: skip
    nothing = (None,) * len(names)
    skene, mace = (one if one.intervals else replace(one, intervals=nothing) for one in (skene, mace))
    majority = category_models.vote_shares(labelled).argmax(axis=1)
    model = replace(model, classes=tuple(values.tolist()), majority=majority, categories=skene, mace=mace)
    return _with_pairs(model, counted, rater, resampling) if question.is_preference else model


def _with_pairs(
    model: QuestionModel, counted: Votes, rater: IntArray, resampling: Resampling | None
) -> QuestionModel:
    """Of preferences also the systems' strengths. Votes that both are bad prefer neither, as ties do."""
    first, second = (column[counted.unit] for column in (counted.units.first, counted.units.second))
    rows = np.flatnonzero((first != NOBODY) & (second != NOBODY) & (first != second))
    systems = np.unique(np.concatenate([first[rows], second[rows]]))
    if len(systems) < 2:
        return model
    win = np.select(
        [counted.value[rows] == Answer.Choice.FIRST, counted.value[rows] == Answer.Choice.SECOND],
        [1.0, 0.0],
        0.5,
    )
    placed = [np.searchsorted(systems, column[rows]) for column in (first, second)]
    votes = pair_model.Preferences.of(placed[0], placed[1], rater[rows], win)
    prompts = counted.units.prompt[counted.unit[rows]]
    pairs = (
        pair_model.noisy_bradley_terry(votes) if resampling is None
        else pair_model.with_intervals(votes, clusters=prompts, resampling=resampling)
    )  # fmt: skip
    return replace(model, systems=tuple(systems.tolist()), pairs=_padded(pairs, len(model.raters)))


def _padded(pairs: PairModel, n_raters: int) -> PairModel:
    """With a place for raters who compared no two systems."""
    missing = n_raters - len(pairs.n)
    return replace(
        pairs,
        n=np.pad(pairs.n, (0, missing)),
        reliability=np.pad(pairs.reliability, (0, missing), constant_values=np.nan),
        intervals=(*pairs.intervals, *(None,) * missing) if pairs.intervals else (),
    )


# ── Labels ─────────────────────────────────────────────────────────────────────


def label_rows(study: Study, model: QuestionModel) -> Iterator[dict[str, Any]]:
    """Of each unit the posterior label beside the figure without a model, in the order of the units: a category with
    its probability and the majority, or the rating expected of an average rater with its standard error and the mean.
    """
    units = model.votes.units
    tasks = dict(Task.objects.filter(study=study).values_list("pk", "external_id"))
    items = dict(Item.objects.filter(study=study).values_list("pk", "external_id"))
    systems = model.votes.systems
    for row, unit in enumerate(model.units.tolist()):
        first, second = int(units.first[unit]), int(units.second[unit])
        named = {
            "question": model.votes.question.key,
            "item": items.get(int(units.item_ids[unit]), ""),
            "task": tasks.get(int(units.task[unit]), ""),
            "systems": [systems[one] for one in (first, second) if one != NOBODY],
        }
        if model.ordinal is not None:
            yield named | {
                "model": "ordinal",
                "label": round(float(model.ordinal.adjusted[row]), 4),
                "standard_error": round(float(model.ordinal.theta_se[row]), 4),
                "unweighted": round(float(model.ordinal.unweighted[row]), 4),
            }
        elif model.categories is not None and model.majority is not None:
            posterior = model.categories.posterior[row]
            yield named | {
                "model": "dawid_skene",
                "label": _category(model, int(model.categories.label[row])),
                "probability": round(float(posterior.max()), 6),
                "unweighted": _category(model, int(model.majority[row])),
                "posterior": {
                    _category(model, place): round(float(chance), 6) for place, chance in enumerate(posterior)
                },
            }


_CHOICES = {
    Answer.Choice.FIRST: "first", Answer.Choice.SECOND: "second", Answer.Choice.TIE: "tie",
    Answer.Choice.BOTH_BAD: "both_bad",
}  # fmt: skip


def _category(model: QuestionModel, place: int) -> str:
    value = model.classes[place]
    question = model.votes.question
    return _CHOICES[Answer.Choice(int(value))] if question.is_preference else question.label(value)
