"""Scorers against preferences: accuracy, by confidence and by part, calibration, and what one person achieves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Table
from analytics.reports.paper.models_cells import (
    count_column,
    drawn_by_prompt,
    measured,
    number_column,
    scorer_column,
)
from analytics.reports.paper.models_judged import Compared, Group, by_strata
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_ratings import ceiling_row, ceiling_table
from analytics.reports.paper.models_scales import middle_confidence
from analytics.statistics.human_ceiling import preference_ceiling
from analytics.statistics.pairwise_accuracy import pairwise_accuracy
from analytics.statistics.preference_regression import PreferenceRegression, preference_regression


def preference_tables(
    asked: Asked, found: Compared, early: Compared, parts: Sequence[Group] = ()
) -> Iterator[Block]:
    """`early`: the same pairs with their first votes only, as `Asked.first_votes` has them. `parts`: further parts of
    the pairs to tell of, besides confidence and strata."""
    yield _accuracies(asked, found)
    groups = [*_by_confidence(asked, early), *parts, *by_strata(asked.votes, found.unit)]
    if groups:
        yield _by_part(asked, found, groups)
    yield _ceilings(asked, early)
    yield from _regressions(asked, found)


def _accuracies(asked: Asked, found: Compared) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        leads = one.leads(found.first, found.second)
        accuracy = pairwise_accuracy(
            leads, found.lead, clusters=found.prompt.tolist(), resampling=asked.resampling
        )
        n = accuracy.accuracy.n
        missing = int((~np.isfinite(leads) & found.decided).sum())
        rows.append([one.name, n, missing, accuracy.metric_ties, measured(accuracy.accuracy)])
    undecided = int((~found.decided).sum())
    return Table(
        key=asked.key("pairs"),
        caption=_("How often a scorer prefers what people prefer: %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Pairs")), count_column("missing", _("No score")),
            count_column("ties", _("Scorer’s ties")), accuracy_column(),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "People prefer what more votes are for. Pairs that they left undecided, here %(undecided)s of "
                "%(all)s, do not count; a scorer’s tie counts one half."
            )
            % {"undecided": f"{undecided:,}", "all": f"{len(found):,}"},
        ],
    )  # fmt: skip


def accuracy_column() -> Column:
    return Column("accuracy", _("Accuracy"), "percent", 1)


def _by_confidence(asked: Asked, found: Compared) -> Iterator[Group]:
    """Below, at and above the middle of the scale, as CMI-RewardBench has it (tables 21 and 22)."""
    middle = middle_confidence(asked.question)
    if middle is None or not np.isfinite(found.confidence).any():
        return
    sure, by = found.confidence, _("confidence")
    yield Group(by, f"< {middle:g}", sure < middle)
    yield Group(by, f"= {middle:g}", sure == middle)
    yield Group(by, f"> {middle:g}", sure > middle)


def _by_part(asked: Asked, found: Compared, groups: list[Group]) -> Table:
    rows: list[list[Cell]] = []
    varying = asked.varying(lambda one: one.leads(found.first, found.second))
    for group in groups:
        pairs = found.select(group.rows)
        for one in varying:
            accuracy = pairwise_accuracy(
                one.leads(pairs.first, pairs.second),
                pairs.lead,
                clusters=pairs.prompt.tolist(),
                resampling=asked.resampling,
            ).accuracy
            rows.append([group.by, group.name, one.name, accuracy.n, measured(accuracy)])
    notes = [drawn_by_prompt(asked.resampling)]
    if any(group.by == _("confidence") for group in groups):
        notes.append(_("The confidence of a pair is the mean of what its voters gave."))
        if (first := asked.question.first_votes) is not None:
            notes.append(
                _(
                    "That of its first %(n)s, since more were asked while these differed; the accuracy is of all."
                )
                % {"n": first}
            )
    return Table(
        key=asked.key("parts"),
        caption=_("Accuracy by part of the pairs: %(question)s") % asked.named,
        columns=[
            asked.by_column(), asked.part_column(), scorer_column(), count_column("n", _("Pairs")),
            accuracy_column(),
        ],
        rows=rows,
        notes=notes,
    )  # fmt: skip


def _ceilings(asked: Asked, found: Compared) -> Table:
    rows = []
    for one in asked.contenders:
        ceiling = preference_ceiling(
            found.votes,
            one.leads(found.first, found.second),
            clusters=found.prompt.tolist(),
            resampling=asked.resampling,
        )
        rows.append(ceiling_row(one.name, _("accuracy"), ceiling))
    return ceiling_table(
        asked,
        rows,
        _(
            "In turn, each vote on a pair is compared with the majority of the others; so is the scorer. A vote for "
            "neither counts one half; turns in which the others are undecided do not count."
        ),
    )


def _regressions(asked: Asked, found: Compared) -> Iterator[Table]:
    for scored in asked.scored:
        heads = scored.heads()
        if heads is None:
            continue
        differences = np.stack([head.leads(found.first, found.second) for head in heads], axis=1)
        result = preference_regression(
            differences, found.lead, clusters=found.prompt.tolist(), resampling=asked.resampling
        )
        if result is not None:
            yield _regression(asked, str(scored.scorer), scored.scorer.digest[:8], result)


def _regression(asked: Asked, name: str, digest: str, result: PreferenceRegression) -> Table:
    labels = {
        "first": _("Musicality difference"),
        "second": _("Alignment difference"),
        "sum": _("Sum of both differences"),
        "logistic": _("Logistic regression, five folds by prompt"),
    }
    rows: list[list[Cell]] = [
        [labels[one.name], measured(one.accuracy), measured(one.auc), measured(one.mse)]
        for one in result.predictors
    ]
    weights = _(
        "The regression on all pairs: musicality %(musicality)s, alignment %(alignment)s, intercept %(intercept)s, per "
        "unit of each output (ridge penalty of 1 per root mean square)."
    ) % {
        "musicality": f"{result.coefficients[0]:.4f}",
        "alignment": f"{result.coefficients[1]:.4f}",
        "intercept": f"{result.intercept:.4f}",
    }
    return Table(
        key=asked.key(f"heads_{digest}"),
        caption=_("What it owes to the two outputs of %(scorer)s: %(question)s") % {**asked.named, "scorer": name},
        columns=[
            Column("predictor", _("Predictor")), accuracy_column(), number_column("auc", _("AUC")),
            number_column("mse", _("MSE")),
        ],
        rows=rows,
        notes=[
            _("%(n)s decided pairs with both outputs; as in CMI-RewardBench, tables 13 and 15.")
            % {"n": f"{result.n:,}"},
            weights,
            _("MSE: of 1 / (1 + exp(−difference)) and the preferred side. No support vector machines are fitted."),
            drawn_by_prompt(asked.resampling),
        ],
    )  # fmt: skip
