"""Scorers against ratings: over items, over systems, by part of the items, and how far off they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.items import CandidateText
from analytics.reports.document import Block, Cell, Column, Table
from analytics.reports.sections.model_data import (
    VARIANCE,
    ComparedPairs,
    Group,
    RatedCandidates,
    ScoredQuestion,
    by_strata,
    correlation_columns,
    count_column,
    drawn_by_prompt,
    from_0_to_1,
    measured_score,
    middle_confidence,
    number_column,
    present_systems,
    scale_bounds,
    scorer_column,
)
from analytics.statistics.correlation import correlations, pearson_and_spearman, system_correlations
from analytics.statistics.judges.accuracy import (
    FEWEST_RATINGS,
    absolute_error,
    pairwise_accuracy,
    variance_error,
)
from analytics.statistics.judges.answer_length import ANSWER_TYPES, answer_types
from analytics.statistics.judges.human_ceiling import Ceiling, preference_ceiling, rating_ceiling
from analytics.statistics.judges.logistic_regression import PreferenceRegression, preference_regression

# Parts beyond this would make a table that nobody reads.
MOST_PARTS = 60


def rating_tables(
    asked: ScoredQuestion, found: RatedCandidates, early: RatedCandidates, texts: dict[int, CandidateText]
) -> Iterator[Block]:
    """`early`: with the first ratings only, as `Asked.first_votes` has them."""
    yield _over_items(asked, found)
    if len(np.unique(found.system)) > 1:
        yield _over_systems(asked, found)
    groups = [*by_strata(asked.votes, found.unit), *_types(found, texts), *_systems(asked, found)]
    if groups:
        yield _ratings_by_part(asked, found, groups)
    yield _rating_ceilings(asked, early)
    yield from _variances(asked, early)


def _over_items(asked: ScoredQuestion, found: RatedCandidates) -> Table:
    rows: list[list[Cell]] = []
    scale = scale_bounds(asked.question)
    humans = None if scale is None else (found.mean - scale[0]) / (scale[1] - scale[0])
    for one in asked.contenders:
        scores, clusters = one.of(found.candidate), found.prompt.tolist()
        three = correlations(scores, found.mean, clusters=clusters, resampling=asked.resampling)
        known = int(np.isfinite(scores).sum())
        row: list[Cell] = [
            one.name, known, len(found) - known,
            measured_score(three.lcc), measured_score(three.srcc), measured_score(three.ktau), None, None,
        ]  # fmt: skip
        if humans is not None and (near := from_0_to_1(scores, scale)) is not None:
            error = absolute_error(near, humans, clusters=clusters, resampling=asked.resampling)
            row[-2:] = [measured_score(error.error), error.constant]
        rows.append(row)
    return Table(
        key=asked.key("items"),
        caption=_("Scores and mean ratings, over items: %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Items")), count_column("missing", _("No score")),
            *correlation_columns(), number_column("kendall", _("Kendall (tau-b)")), number_column("mae", _("MAE")),
            number_column("constant", _("MAE of the median")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _("An item is one candidate; its human value is the mean of its ratings, however many there are."),
            _(
                "MAE: mean absolute error with ratings brought to 0 to 1; for scores that all lie from 0 to 1, or all "
                "on the question’s scale. Others are on a scale of their own, and have none. Beside it, what always "
                "saying the median rating comes to."
            ),
        ],
    )  # fmt: skip


def _over_systems(asked: ScoredQuestion, found: RatedCandidates) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        three = system_correlations(
            one.of(found.candidate), found.mean, found.system.tolist(), **asked.by_prompt(found)
        )
        rows.append(
            [
                one.name,
                three.lcc.n,
                measured_score(three.lcc),
                measured_score(three.srcc),
                measured_score(three.ktau),
            ]
        )
    return Table(
        key=asked.key("systems"),
        caption=_("Mean scores and mean ratings, over systems: %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("systems", _("Systems")),
            *correlation_columns(), number_column("kendall", _("Kendall (tau-b)")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "Each system’s mean over its items, then the correlation of these means: another figure than that over "
                "items, never to be compared with it. The systems are taken as given."
            ),
        ],
    )  # fmt: skip


def _ratings_by_part(asked: ScoredQuestion, found: RatedCandidates, groups: Sequence[Group]) -> Table:
    rows: list[list[Cell]] = []
    varying = asked.varying(lambda one: one.of(found.candidate))
    for group in groups:
        for one in varying:
            lcc, srcc = pearson_and_spearman(
                one.of(found.candidate[group.rows]),
                found.mean[group.rows],
                clusters=found.prompt[group.rows].tolist(),
                resampling=asked.resampling,
            )
            rows.append([group.by, group.name, one.name, lcc.n, measured_score(lcc), measured_score(srcc)])
    notes = [drawn_by_prompt(asked.resampling)]
    if any(group.by == _("answer") for group in groups):
        notes.append(
            _(
                "Answers as in AURA Score, table 2: yes or no, or one word, where the reference answer is that; the "
                "rest in three buckets of about equal counts by the number of words of the answer."
            )
        )
    return Table(
        key=asked.key("parts"),
        caption=_("Scores and mean ratings, by part of the items: %(question)s") % asked.named,
        columns=[
            asked.by_column(), asked.part_column(), scorer_column(), count_column("n", _("Items")),
            *correlation_columns(),
        ],
        rows=rows,
        notes=notes,
    )  # fmt: skip


def _types(found: RatedCandidates, texts: dict[int, CandidateText]) -> Iterator[Group]:
    own = [texts.get(candidate) for candidate in found.candidate.tolist()]
    written = [answer for answer in own if answer is not None]
    if not written:
        return
    kinds = iter(answer_types([one.reference for one in written], [one.text for one in written]))
    of_row = np.array(["" if answer is None else next(kinds) for answer in own])
    names = {
        "binary": _("yes or no"),
        "word": _("one word"),
        "short": _("short"),
        "medium": _("medium"),
        "long": _("long"),
    }
    for kind in ANSWER_TYPES:
        if (of_row == kind).any():
            yield Group(_("answer"), names[kind], of_row == kind)


def _systems(asked: ScoredQuestion, found: RatedCandidates) -> Iterator[Group]:
    systems = present_systems(found, asked.votes)
    if 1 < len(systems) <= MOST_PARTS:
        for name, rows in systems:
            yield Group(_("system"), name, rows)


def _rating_ceilings(asked: ScoredQuestion, found: RatedCandidates) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        both = rating_ceiling(found.row, found.value, one.of(found.candidate), **asked.by_prompt(found))
        rows += [
            ceiling_row(one.name, _("Pearson"), both.lcc),
            ceiling_row(one.name, _("Spearman"), both.srcc),
        ]
    return ceiling_table(
        asked,
        rows,
        _("In turn, each rater of an item is compared with the mean of the others; so is the scorer."),
    )


def ceiling_row(name: str, statistic: str, ceiling: Ceiling) -> list[Cell]:
    return [
        name, statistic, ceiling.units, ceiling.answers,
        measured_score(ceiling.human), measured_score(ceiling.model), measured_score(ceiling.ratio),
    ]  # fmt: skip


def ceiling_table(asked: ScoredQuestion, rows: Sequence[Sequence[Cell]], how: str) -> Table:
    return Table(
        key=asked.key("ceiling"),
        caption=_("Scorers and one person, each against the rest of the raters: %(question)s") % asked.named,
        columns=[
            scorer_column(), asked.statistic_column(), count_column("units", _("Items")),
            count_column("answers", _("Answers")), number_column("person", _("One person")),
            number_column("model", _("Scorer")), number_column("ratio", _("Scorer / person")),
        ],
        rows=rows,
        notes=[
            how,
            _(
                "Items with a score and two or more answers, each weighing the same. Above 1 a scorer foresees the "
                "others better than one person does. As the rest is fewer raters than all, figures are usually lower "
                "than those above, and not to be compared with them."
            ),
            *asked.first_votes_note(),
            drawn_by_prompt(asked.resampling),
        ],
    )  # fmt: skip


def _variances(asked: ScoredQuestion, found: RatedCandidates) -> Iterator[Table]:
    scale = scale_bounds(asked.question)
    expecting = [one for scored in asked.scored if (one := scored.output(VARIANCE)) is not None]
    if scale is None or not expecting:
        return
    rows: list[list[Cell]] = []
    for one in expecting:
        error = variance_error(
            one.of(found.candidate),
            found.row,
            (found.value - scale[0]) / (scale[1] - scale[0]),
            **asked.by_prompt(found),
        )
        rows.append([one.name, error.error.n, measured_score(error.error), error.constant, error.floor])
    yield Table(
        key=asked.key("variance"),
        caption=_("Expected and observed variance of ratings (MAE): %(question)s") % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Items")), number_column("mae", _("MAE")),
            number_column("constant", _("Best constant")), number_column("floor", _("If known")),
        ],
        rows=rows,
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "Against the unbiased variance of the ratings of items with %(n)s or more, on a scale from 0 to 1. “If "
                "known”: the error that chance leaves to a scorer that knows each item’s distribution, by simulation."
            )
            % {"n": FEWEST_RATINGS},
            *asked.first_votes_note(),
        ],
    )  # fmt: skip


# Scorers against preferences: accuracy, by confidence and by part, calibration, and what one person
# achieves.


def preference_tables(
    asked: ScoredQuestion, found: ComparedPairs, early: ComparedPairs, parts: Sequence[Group] = ()
) -> Iterator[Block]:
    """`early`: the same pairs with their first votes only, as `Asked.first_votes` has them. `parts`: further parts of
    the pairs to tell of, besides confidence and strata."""
    yield _accuracies(asked, found)
    groups = [*_by_confidence(asked, early), *parts, *by_strata(asked.votes, found.unit)]
    if groups:
        yield _preferences_by_part(asked, found, groups)
    yield _preference_ceilings(asked, early)
    yield from _regressions(asked, found)


def _accuracies(asked: ScoredQuestion, found: ComparedPairs) -> Table:
    rows: list[list[Cell]] = []
    for one in asked.contenders:
        leads = one.leads(found.first, found.second)
        accuracy = pairwise_accuracy(leads, found.lead, **asked.by_prompt(found))
        n = accuracy.accuracy.n
        missing = int((~np.isfinite(leads) & found.decided).sum())
        rows.append([one.name, n, missing, accuracy.metric_ties, measured_score(accuracy.accuracy)])
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


def _by_confidence(asked: ScoredQuestion, found: ComparedPairs) -> Iterator[Group]:
    """Below, at and above the middle of the scale, as CMI-RewardBench has it (tables 21 and 22)."""
    middle = middle_confidence(asked.question)
    if middle is None or not np.isfinite(found.confidence).any():
        return
    sure, by = found.confidence, _("confidence")
    yield Group(by, f"< {middle:g}", sure < middle)
    yield Group(by, f"= {middle:g}", sure == middle)
    yield Group(by, f"> {middle:g}", sure > middle)


def _preferences_by_part(asked: ScoredQuestion, found: ComparedPairs, groups: list[Group]) -> Table:
    rows: list[list[Cell]] = []
    varying = asked.varying(lambda one: one.leads(found.first, found.second))
    for group in groups:
        pairs = found.select(group.rows)
        for one in varying:
            accuracy = pairwise_accuracy(
                one.leads(pairs.first, pairs.second), pairs.lead, **asked.by_prompt(pairs)
            ).accuracy
            rows.append([group.by, group.name, one.name, accuracy.n, measured_score(accuracy)])
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


def _preference_ceilings(asked: ScoredQuestion, found: ComparedPairs) -> Table:
    rows = []
    for one in asked.contenders:
        ceiling = preference_ceiling(
            found.votes, one.leads(found.first, found.second), **asked.by_prompt(found)
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


def _regressions(asked: ScoredQuestion, found: ComparedPairs) -> Iterator[Table]:
    for scored in asked.scored:
        heads = scored.heads()
        if heads is None:
            continue
        differences = np.stack([head.leads(found.first, found.second) for head in heads], axis=1)
        result = preference_regression(differences, found.lead, **asked.by_prompt(found))
        if result is not None:
            yield _regression(asked, str(scored.scorer), scored.scorer.digest[:8], result)


def _regression(asked: ScoredQuestion, name: str, digest: str, result: PreferenceRegression) -> Table:
    labels = {
        "first": _("Musicality difference"),
        "second": _("Alignment difference"),
        "sum": _("Sum of both differences"),
        "logistic": _("Logistic regression, five folds by prompt"),
    }
    rows: list[list[Cell]] = [
        [labels[one.name], measured_score(one.accuracy), measured_score(one.auc), measured_score(one.mse)]
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
