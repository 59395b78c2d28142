"""Anchoring: scores that raters were shown, and the effect on their votes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.data import hints
from analytics.data.hints import HintCounts, HintedVotes
from analytics.reports.document import Block, Cell, Column, Paragraph, Section, Table
from analytics.reports.reasons import ANCHORING, measured
from analytics.reports.sections.material import ReportData
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters.anchoring import (
    AnchoringEffect,
    agreement_effect,
    rating_effects,
)
from annotation.models import Answer, Judgment


def hints_section(material: ReportData) -> Section | None:
    """None where nothing was shown to anybody."""
    counts = hints.hint_counts(material.study)
    if counts is None:
        return None
    resampling = material.settings.resampling
    questions = [hints.hinted_votes(votes.counted()) for votes in material.votes]
    questions = [one for one in questions if len(one.votes)]
    preferences = [one for one in questions if one.votes.question.is_preference]
    ratings = [one for one in questions if one.votes.question.is_rating]
    blocks: list[Block] = [_shown(counts)]
    if preferences:
        blocks += _of_preferences(preferences, resampling)
    if ratings:
        blocks += _of_ratings(ratings, resampling)
    return Section("hints", _("Scores shown to raters"), blocks)


def not_independent(material: ReportData) -> Iterator[Paragraph]:
    """A warning for figures that take votes as independent of models and of each other."""
    if (counts := hints.hint_counts(material.study)) and counts.shown:
        text = _(
            "Before %(shown)s judgments raters were shown what a model says (%(scorers)s). These votes are independent "
            "neither of the model nor of each other, so both may look more alike than they are; the section on scores "
            "shown to raters tells by how much."
        )
        yield Paragraph(text % _counts(counts), warning=True)


def methods_sentence(material: ReportData) -> str:
    """For the methods of a paper; of studies whose votes were given elsewhere nothing is known."""
    if (counts := hints.hint_counts(material.study)) is not None:
        text = _(
            "Raters were shown what a model says (%(scorers)s) before %(shown)s judgments; from %(withheld)s it was "
            "kept, drawn at random for each rater and task."
        )
        return text % _counts(counts)
    here = Judgment.objects.filter(study=material.study, origin=Judgment.Origin.RATED)
    return _("Raters were shown no scores of models.") if here.exists() else ""


def _counts(counts: HintCounts) -> dict[str, str]:
    return {
        "scorers": ", ".join(counts.scorers),
        "shown": f"{counts.shown:,}",
        "withheld": f"{counts.withheld:,}",
    }


def _shown(counts: HintCounts) -> Paragraph:
    text = _(
        "Before the questions, raters saw what a model says of a task, as a guess that may be wrong: %(scorers)s. It "
        "was shown before %(shown)s judgments, and kept from the rater at random before %(withheld)s. As a coin "
        "decided, the difference between the two is the effect of showing, among votes under one version of the model "
        "and one withheld share."
    )
    return Paragraph(text % _counts(counts))


def _of_preferences(questions: Sequence[HintedVotes], resampling: Resampling) -> Iterator[Block]:
    effects = [_agreement(hinted, resampling) for hinted in questions]
    columns = (
        Column("question", _("Question")),
        Column("shown", _("Votes, shown"), "count"),
        Column("withheld", _("Votes, withheld"), "count"),
        Column("agree_shown", _("With the model, shown"), "percent", 1),
        Column("agree_withheld", _("With the model, withheld"), "percent", 1),
        Column("effect", _("Effect of showing"), "percent", 1),
    )
    rows: list[tuple[Cell, ...]] = [
        (_title(hinted), *_cells(effect)) for hinted, effect in zip(questions, effects, strict=True)
    ]
    notes = [
        _(
            "The share of votes for the side that the model prefers; a vote for neither counts one half, and pairs "
            "that it cannot tell apart do not count. Above 0, votes follow what is shown."
        ),
        _drawn(effects, resampling),
        *_within(questions),
    ]
    yield Table("hints-preferences", _("Votes with the model, shown and withheld"), columns, rows, notes)
    for hinted, effect in zip(questions, effects, strict=True):
        if effect.interval and effect.interval[0] > 0:
            yield _follows(hinted)


def _of_ratings(questions: Sequence[HintedVotes], resampling: Resampling) -> Iterator[Block]:
    distances = [
        rating_effects(
            hinted.votes.value, hinted.predicted,
            shown=hinted.shown, raters=hinted.votes.rater, strata=hinted.stratum, resampling=resampling,
        )
        for hinted in questions
    ]  # fmt: skip
    columns = (
        Column("question", _("Question")),
        Column("measure", _("Measure")),
        Column("shown", _("Votes, shown"), "count"),
        Column("withheld", _("Votes, withheld"), "count"),
        Column("value_shown", _("Shown"), "number", 3),
        Column("value_withheld", _("Withheld"), "number", 3),
        Column("effect", _("Effect of showing"), "number", 3),
    )
    names = (_("Distance from the model"), _("Slope on the model"))
    rows: list[tuple[Cell, ...]] = [
        (_title(hinted), name, *_cells(one))
        for hinted, effects in zip(questions, distances, strict=True)
        for name, one in zip(names, (effects.distance, effects.slope), strict=True)
    ]
    notes = [
        _(
            "Distance: the mean of how far ratings lie from the rating that the model expects; below 0, showing draws "
            "them to it. Slope: by how much a rating rises with one point of the model’s; above 0, they follow it more "
            "where it is shown."
        ),
        _drawn([effects.distance for effects in distances], resampling),
        *_within(questions),
    ]
    yield Table("hints-ratings", _("Ratings and the model’s, shown and withheld"), columns, rows, notes)
    for hinted, effects in zip(questions, distances, strict=True):
        drawn_to_it = effects.distance.interval is not None and effects.distance.interval[1] < 0
        follows_more = effects.slope.interval is not None and effects.slope.interval[0] > 0
        if drawn_to_it or follows_more:
            yield _follows(hinted)


def _agreement(hinted: HintedVotes, resampling: Resampling) -> AnchoringEffect:
    votes, first = hinted.votes, hinted.predicted > 0.5
    preferred = np.where(first, Answer.Choice.FIRST, Answer.Choice.SECOND)
    neither = ~np.isin(votes.value, (Answer.Choice.FIRST, Answer.Choice.SECOND))
    agrees = np.where(neither, 0.5, votes.value == preferred)
    sided = hinted.predicted != 0.5
    return agreement_effect(
        agrees[sided],
        shown=hinted.shown[sided],
        raters=votes.rater[sided],
        strata=hinted.stratum[sided],
        resampling=resampling,
    )


def _title(hinted: HintedVotes) -> str:
    return hinted.votes.question.title


def _cells(effect: AnchoringEffect) -> tuple[Cell, ...]:
    """Votes and figures of those who were shown a score and of the others, and the difference."""
    shown, withheld = effect.shown, effect.withheld
    difference = measured(effect.value, effect.interval, effect.reason, ANCHORING)
    return shown.votes, withheld.votes, shown.value, withheld.value, difference


def _drawn(effects: Sequence[AnchoringEffect], resampling: Resampling) -> str:
    """The group that is smaller by raters decides how far an interval is widened."""
    fewest = min(min(one.shown.raters, one.withheld.raters) for one in effects)
    text = _(
        "%(level)s intervals: percentiles of %(times)s bootstrap resamples of raters, each with all their votes, "
        "expanded for the number of raters in the smaller group, %(n)s or more (Hesterberg, 2015)."
    )
    return text % {
        "level": f"{100 * resampling.level:g} %",
        "times": f"{resampling.replicates:,}",
        "n": f"{fewest:,}",
    }


def _within(questions: Sequence[HintedVotes]) -> Iterator[str]:
    if any(len(np.unique(hinted.stratum)) > 1 for hinted in questions):
        yield _(
            "The model’s version or the withheld share changed meanwhile, so votes are compared within each version "
            "and share, and both groups weighed to the same numbers of votes in each; where one of the two groups has "
            "no vote, votes are left out."
        )


def _follows(hinted: HintedVotes) -> Paragraph:
    text = _(
        "%(question)s Votes follow the model where raters see what it says. What they say of it, and of each other, "
        "rests in part on that."
    )
    return Paragraph(text % {"question": _title(hinted)}, warning=True)
