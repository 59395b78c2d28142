"""Scorer calibration: probabilities against shares of votes, and mean ratings over scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Figure, Measured, Table
from analytics.reports.render.line_plot import Line, line_plot
from analytics.reports.sections.model_data import (
    ComparedPairs,
    RatedCandidates,
    ScoredQuestion,
    ScorerOutput,
    count_column,
    drawn_by_prompt,
    measured_score,
    number_column,
)
from analytics.statistics.arrays import FloatArray
from analytics.statistics.bins import BinnedMean, binned_means
from analytics.statistics.judges.calibration import (
    BINS,
    Calibration,
    calibration,
    recalibrated_logits,
    vote_entropy,
)

# More lines in one drawing than can be told apart help nobody; the tables have all.
_DRAWN = 4


@dataclass(frozen=True, eq=False)
class _Calibrated:
    """As the scorer says it, and after Platt's rescaling; None where all pairs belong together."""

    contender: ScorerOutput
    raw: Calibration
    again: Calibration | None


def calibration_blocks(question: ScoredQuestion, pairs: ComparedPairs) -> Iterator[Block]:
    each = [_calibrated(question, pairs, one) for one in question.outputs]
    if not any(one.raw.n for one in each):
        return
    yield _summary(question, pairs, each)
    yield _reliability(question, each)
    for number, one in enumerate([one for one in each if one.raw.n][:_DRAWN], start=1):
        yield _diagram(question, one, number)


def _calibrated(question: ScoredQuestion, pairs: ComparedPairs, one: ScorerOutput) -> _Calibrated:
    leads = one.leads(pairs.first, pairs.second)
    first, second = pairs.votes[:, 0], pairs.votes[:, 1]

    def of(logits: FloatArray) -> Calibration:
        return calibration(logits, first, second, **question.by_prompt(pairs))

    again = recalibrated_logits(leads, first, second, clusters=pairs.prompt, seed=question.resampling.seed)
    return _Calibrated(one, of(one.logits(leads)), None if again is None else of(again))


def _summary(question: ScoredQuestion, pairs: ComparedPairs, each: list[_Calibrated]) -> Table:
    rows: list[list[Cell]] = []
    for one in each:
        rows.append(_summary_row(one.contender.name, _("as scored"), one.raw))
        if one.again is not None:
            rows.append(_summary_row(one.contender.name, _("rescaled"), one.again))
        rows += _references(pairs, one)
    return question.table(
        "calibration", _("Scores as probabilities of votes: %(question)s"),
        rows,
        Column("scale", _("Probabilities")), count_column("n", _("Pairs")),
        number_column("cross_entropy", _("Cross-entropy")), number_column("brier", _("Brier")),
        number_column("ece", _("ECE")), number_column("ece_by_chance", _("ECE by chance")),
        notes=[
            _(
                "The share of votes for the side that the scorer prefers, votes for neither left aside, beside its "
                "probability: the logistic function of the difference of scores, or the value itself of a scorer of "
                "pairs that gives a probability."
            ),
            _(
                "Rescaled: the difference times a factor learnt by logistic regression from the pairs of other prompts "
                "(Platt scaling, five folds, no intercept)."
            ),
            _(
                "ECE: expected calibration error over at most %(bins)s bins of equal counts, of ten pairs or more. By "
                "chance: what a perfectly calibrated scorer with these probabilities would show on as many votes, "
                "by simulation. It has no interval, since resampled data are always less well calibrated than the data."
            )
            % {"bins": BINS},
            _("Below each scorer: what one half for every pair, and each pair’s own share, come to on its very pairs."),
            *question.first_votes_note(),
            drawn_by_prompt(question.resampling),
        ],
    )  # fmt: skip


def _summary_row(name: str, scale: str, calibrated: Calibration) -> list[Cell]:
    return [
        name, scale, calibrated.n, measured_score(calibrated.cross_entropy), measured_score(calibrated.brier),
        calibrated.ece, calibrated.ece_by_chance
    ]  # fmt: skip


def _references(pairs: ComparedPairs, one: _Calibrated) -> list[list[Cell]]:
    """What its figures lie between, over the very pairs that it has a score of."""
    if not one.raw.n:
        return []
    name, scored = one.contender.name, np.isfinite(one.contender.leads(pairs.first, pairs.second))
    first, second = pairs.votes[scored, 0], pairs.votes[scored, 1]
    voted = first + second > 0
    brier = float(((first[voted] / (first + second)[voted] - 0.5) ** 2).mean())
    least = vote_entropy(first, second)
    return [
        [name, _("one half for every pair"), one.raw.n, float(np.log(2)), brier, None, None],
        [name, _("each pair’s own share of votes"), one.raw.n, least, 0.0, None, None],
    ]


def _reliability(question: ScoredQuestion, each: list[_Calibrated]) -> Table:
    rows: list[list[Cell]] = []
    for one in each:
        for scale, calibrated in ((_("as scored"), one.raw), (_("rescaled"), one.again)):
            for bin_ in calibrated.bins if calibrated else ():
                share = Measured(bin_.observed, bin_.low, bin_.high)
                rows.append([one.contender.name, scale, bin_.n, bin_.predicted, share])
    return question.table(
        "reliability", _("Probability and share of votes, by bin: %(question)s"),
        rows,
        Column("scale", _("Scale")), count_column("n", _("Pairs")),
        number_column("predicted", _("Probability")), number_column("observed", _("Share of votes")),
        notes=[
            _("Intervals are Wilson’s for as many votes as there are pairs, rather too wide than too narrow."),
            *question.first_votes_note(),
        ],
    )  # fmt: skip


def _diagram(question: ScoredQuestion, one: _Calibrated, number: int) -> Figure:
    names = {**question.title_params, "scorer": one.contender.name}
    caption = _("Reliability of %(scorer)s: %(question)s") % names
    lines = [_line(_("as scored"), one.raw)]
    if one.again is not None:
        lines.append(_line(_("rescaled"), one.again))
    ideal = [(0.5, 0.5, None, None), (1.0, 1.0, None, None)]
    lines.append(Line(_("perfectly calibrated"), ideal, dashed=True))
    svg = line_plot(
        caption,
        lines,
        x_label=_("Probability of the side that the scorer prefers"),
        y_label=_("Share of votes for it"),
        x_range=(0.5, 1.0),
        y_range=(0.0, 1.0),
    )
    return Figure(question.key(f"reliability_{number}"), caption, svg)


def _line(name: str, calibrated: Calibration) -> Line:
    return Line(name, [(bin_.predicted, bin_.observed, bin_.low, bin_.high) for bin_ in calibrated.bins])


def rating_curves(question: ScoredQuestion, rated: RatedCandidates) -> Iterator[Block]:
    """Mean ratings over scores: a scorer may be far from the line and still know the order."""

    def bins_of(one: ScorerOutput) -> tuple[BinnedMean, ...]:
        return binned_means(one.of(rated.candidate), rated.mean, most_bins=BINS, **question.by_prompt(rated))

    each = [(one, bins_of(one)) for one in question.varying(lambda one: one.of(rated.candidate))]
    rows: list[list[Cell]] = [
        [one.name, bin_.n, bin_.lowest, bin_.highest, bin_.x, measured_score(bin_.mean)]
        for one, bins in each
        for bin_ in bins
    ]
    if not rows:
        return
    yield question.table(
        "curve", _("Mean rating by score: %(question)s"),
        rows,
        count_column("n", _("Items")), number_column("lowest", _("Scores from")),
        number_column("highest", _("Scores to")), number_column("score", _("Mean score")),
        number_column("rating", _("Mean rating"), digits=2),
        notes=[
            _("At most %(bins)s bins of about equal counts by score; equal scores share a bin.") % {"bins": BINS},
            drawn_by_prompt(question.resampling),
        ],
    )  # fmt: skip
    drawn = [(one, bins) for one, bins in each if len(bins) > 1][:_DRAWN]
    for number, (one, bins) in enumerate(drawn, start=1):
        names = {**question.title_params, "scorer": one.name}
        caption = _("Mean rating by the score of %(scorer)s: %(question)s") % names
        lines = [line_of_means(one.name, bins)]
        svg = line_plot(caption, lines, x_label=_("Score"), y_label=_("Mean rating"))
        yield Figure(question.key(f"curve_{number}"), caption, svg)


def line_of_means(name: str, bins: Sequence[BinnedMean]) -> Line:
    points = [(bin_.x, float(bin_.mean.value or 0.0), *(bin_.mean.interval or (None, None))) for bin_ in bins]
    return Line(name, points)
