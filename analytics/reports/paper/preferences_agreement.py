"""Agreement on preferences the way CMI-RewardBench prints it: pairs of votes, and one person's two answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from django.utils.translation import gettext as _

from analytics.figures.paired_bars import paired_bars
from analytics.figures.value_bars import value_bars
from analytics.reports.document import Block, Cell, Column, Figure, Measured, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PROMPT, PairVotes
from analytics.reports.paper.preferences_words import because, first_votes_note, measured_share, resampled
from analytics.reports.paper.readings import Reading, agreement_of, measured
from analytics.statistics.preference_agreement import SamePreference, pair_agreement, same_preference

_SIDES = Reading("nominal", symmetric=True)


def agreement_blocks(asked: Sequence[PairVotes], settings: ReportSettings) -> Iterator[Block]:
    if not asked:
        return
    yield _vote_pairs(asked, settings)
    both = [(one, other) for one, other in combinations(asked, 2)]
    if both:
        yield _same_preferences(both, settings)
    with_confidence = [pairs for pairs in asked if not np.isnan(pairs.votes.confidence).all()]
    if len(with_confidence) == 2:
        yield _confidences_of_two(with_confidence[0], with_confidence[1])
    else:
        yield from map(_confidences, with_confidence)


def _vote_pairs(asked: Sequence[PairVotes], settings: ReportSettings) -> Table:
    """Table 6."""
    columns = (
        Column("question", _("Question")),
        Column("comparisons", _("Comparisons"), "count"),
        Column("votes", _("Votes"), "count"),
        Column("agreements", _("Pairs that agree"), "count"),
        Column("disagreements", _("Pairs that disagree"), "count"),
        Column("rate", _("Agreement rate"), "percent", 1),
        Column("alpha_of_pairs", _("Alpha of pairs"), "number", 3),
        Column("alpha", _("Alpha, sides interchangeable"), "number", 3),
    )
    rows: list[tuple[Cell, ...]] = []
    prompts = 0
    for pairs in asked:
        early = pairs.first_votes
        decided = early.select(early.decided)
        clusters = decided.clusters(PROMPT)
        prompts = max(prompts, len(np.unique(clusters)))
        found = pair_agreement(
            decided.votes.unit, decided.second, clusters=clusters, resampling=settings.resampling
        )
        counts = (found.units, found.votes, found.agreeing.hits, found.disagreements)
        of_pairs = Measured(
            found.alpha, reason=because(found.agreeing.reason if found.alpha is None else None)
        )
        alpha = measured(agreement_of(decided.votes, _SIDES, settings))
        rows.append((pairs.votes.question.title, *counts, measured_share(found.agreeing), of_pairs, alpha))
    notes = [
        _(
            "All pairs of votes on the same comparison that each prefer a side; ties and both bad are left out."
        ),
        _(
            "Alpha of pairs is 1 − 2 × the share of pairs that disagree, as CMI-RewardBench (Table 6) has it: chance "
            "is one half and every pair of votes a unit of its own. The other alpha lets every vote weigh the same and "
            "takes chance as of a finite sample (Krippendorff)."
        ),
        resampled([(PROMPT, prompts)], settings.resampling),
        *first_votes_note(asked),
    ]
    return Table("preferences-agreement", _("Agreement of pairs of votes"), columns, rows, notes)


def _same_preferences(both: Sequence[tuple[PairVotes, PairVotes]], settings: ReportSettings) -> Table:
    """Table 7."""
    columns = (
        Column("question", _("Question")),
        Column("other", _("And")),
        Column("same", _("Same preference"), "count"),
        Column("different", _("Different preference"), "count"),
        Column("rate", _("Agreement rate"), "percent", 1),
        Column("confidence_same", _("Mean confidence, same"), "number", 3),
        Column("other_confidence_same", _("Of the other"), "number", 3),
        Column("confidence_different", _("Mean confidence, different"), "number", 3),
        Column("other_confidence_different", _("Of the other"), "number", 3),
    )
    rows: list[tuple[Cell, ...]] = []
    fewest: dict[str, int] = {}
    for one, other in both:
        found, by = _joined(one, other, settings), one.leading
        fewest[by] = min(fewest.get(by, len(one.votes)), found.same.clusters or 0)
        confidences = (*found.confidence_same, *found.confidence_different)
        titles = (one.votes.question.title, other.votes.question.title)
        rows.append((*titles, found.same.hits, found.different, measured_share(found.same), *confidences))
    notes = [
        _(
            "Judgments that prefer a side in both questions. Confidence is that of the first, then of the second."
        ),
        resampled(sorted(fewest.items()), settings.resampling),
    ]
    return Table("preferences-same", _("One person's two preferences"), columns, rows, notes)


def _joined(one: PairVotes, other: PairVotes, settings: ReportSettings) -> SamePreference:
    """The judgments that decide both questions, in an order of their own."""
    left, right = one.select(one.decided), other.select(other.decided)
    _common, at_left, at_right = np.intersect1d(
        left.votes.judgment, right.votes.judgment, return_indices=True
    )
    return same_preference(
        (left.second[at_left], right.second[at_right]),
        (left.votes.confidence[at_left], right.votes.confidence[at_right]),
        clusters=left.clusters(left.leading)[at_left],
        resampling=settings.resampling,
    )


def _confidences_of_two(one: PairVotes, other: PairVotes) -> Figure:
    """Figure 4."""
    levels = np.unique(np.concatenate([one.votes.confidence, other.votes.confidence]))
    rows = [
        (f"{level:g}", _given(one, level), _given(other, level))
        for level in levels[~np.isnan(levels)].tolist()
    ]
    titles = (one.votes.question.title, other.votes.question.title)
    caption = _("Confidence of votes: %(question)s") % {"question": " / ".join(titles)}
    return Figure("preferences-confidence", caption, paired_bars(caption, titles, rows, on_its_own=False))


def _confidences(pairs: PairVotes) -> Figure:
    question, levels = pairs.votes.question, np.unique(pairs.votes.confidence)
    rows = [(f"{level:g}", _given(pairs, level)) for level in levels[~np.isnan(levels)].tolist()]
    caption = _("Confidence of votes: %(question)s") % {"question": question.title}
    drawing = value_bars(caption, rows, on_its_own=False)
    return Figure(f"preferences-{question.key}-confidences", caption, drawing)


def _given(pairs: PairVotes, level: float) -> int:
    return int((pairs.votes.confidence == level).sum())
