"""Agreement on preferences the way CMI-RewardBench prints it: pairs of votes, and one person's two answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.postgres import BoolArray
from analytics.data.votes import Votes
from analytics.reports.agreement import ReliabilityReading, agreement_of, measured_alpha
from analytics.reports.document import Block, Cell, Column, Figure, Measured, Table
from analytics.reports.reasons import RANKING, reason_sentence
from analytics.reports.render.bars import paired_bars, value_bars
from analytics.reports.sections.material import ReportSettings
from analytics.reports.sections.model_data import middle_confidence
from analytics.reports.sections.preference_votes import (
    PROMPT,
    PreferenceVotes,
    cluster_columns,
    first_votes_note,
    measured_share,
    resampled,
)
from analytics.statistics.agreement.percent_agreement import (
    PairAgreement,
    SamePreference,
    agreement_by_confidence,
    agrees_with_others,
    pair_agreement,
    same_preference,
)

_CHOSEN_SIDES = ReliabilityReading("nominal", symmetric=True)


def agreement_blocks(questions: Sequence[PreferenceVotes], settings: ReportSettings) -> Iterator[Block]:
    if not questions:
        return
    yield _vote_pairs(questions, settings)
    both = [(one, other) for one, other in combinations(questions, 2)]
    if both:
        yield _same_preferences(both, settings)
    with_confidence = [pairs for pairs in questions if not np.isnan(pairs.votes.confidence).all()]
    if len(with_confidence) == 2:
        yield _confidences_of_two(with_confidence[0], with_confidence[1])
    else:
        yield from map(_confidences, with_confidence)


def _vote_pairs(questions: Sequence[PreferenceVotes], settings: ReportSettings) -> Table:
    """Table 6."""
    *counts, alpha_column = _pair_columns("comparisons")
    columns = (
        Column("question", _("Question")),
        *counts,
        Column("alpha_of_pairs", _("Alpha of pairs"), "number", 3),
        alpha_column,
    )
    rows: list[tuple[Cell, ...]] = []
    prompts = 0
    for pairs in questions:
        early = pairs.first_votes
        decided = early.select(early.decided)
        prompts = max(prompts, _n_clusters(decided, PROMPT))
        agreement, (*cells, alpha) = _pair_agreement(decided, settings)
        reason = agreement.agreeing.reason if agreement.alpha is None else None
        of_pairs = Measured(agreement.alpha, reason=reason_sentence(reason, RANKING))
        rows.append((pairs.votes.question.title, *cells, of_pairs, alpha))
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
        *first_votes_note(questions),
    ]
    return Table("preferences-agreement", _("Agreement of pairs of votes"), columns, rows, notes)


def _pair_columns(units: str) -> tuple[Column, ...]:
    return (
        Column(units, _("Comparisons"), "count"),
        Column("votes", _("Votes"), "count"),
        Column("agreements", _("Pairs that agree"), "count"),
        Column("disagreements", _("Pairs that disagree"), "count"),
        Column("rate", _("Agreement rate"), "percent", 1),
        Column("alpha", _("Alpha, sides interchangeable"), "number", 3),
    )


def _pair_agreement(
    decided: PreferenceVotes, settings: ReportSettings
) -> tuple[PairAgreement, tuple[Cell, ...]]:
    """Agreement of pairs of votes that prefer a side, and its cells under `_pair_columns`."""
    agreement = pair_agreement(
        decided.votes.unit, decided.second, clusters=decided.clusters(PROMPT), resampling=settings.resampling
    )
    counts = (agreement.units, agreement.votes, agreement.agreeing.hits, agreement.disagreements)
    alpha = measured_alpha(agreement_of(decided.votes, _CHOSEN_SIDES, settings))
    return agreement, (*counts, measured_share(agreement.agreeing), alpha)


def _same_preferences(
    both: Sequence[tuple[PreferenceVotes, PreferenceVotes]], settings: ReportSettings
) -> Table:
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
        joint, by = _joined(one, other, settings), one.leading
        fewest[by] = min(fewest.get(by, len(one.votes)), joint.same.clusters or 0)
        confidences = (*joint.confidence_same, *joint.confidence_different)
        titles = (one.votes.question.title, other.votes.question.title)
        rows.append((*titles, joint.same.hits, joint.different, measured_share(joint.same), *confidences))
    notes = [
        _(
            "Judgments that prefer a side in both questions. Confidence is that of the first, then of the second."
        ),
        resampled(sorted(fewest.items()), settings.resampling),
    ]
    return Table("preferences-same", _("One person's two preferences"), columns, rows, notes)


def _joined(one: PreferenceVotes, other: PreferenceVotes, settings: ReportSettings) -> SamePreference:
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


def _confidences_of_two(one: PreferenceVotes, other: PreferenceVotes) -> Figure:
    """Figure 4."""
    levels = np.unique(np.concatenate([one.votes.confidence, other.votes.confidence]))
    rows = [
        (f"{level:g}", _n_given(one, level), _n_given(other, level))
        for level in levels[~np.isnan(levels)].tolist()
    ]
    titles = (one.votes.question.title, other.votes.question.title)
    caption = _("Confidence of votes: %(question)s") % {"question": " / ".join(titles)}
    return Figure("preferences-confidence", caption, paired_bars(caption, titles, rows))


def _confidences(pairs: PreferenceVotes) -> Figure:
    question, levels = pairs.votes.question, np.unique(pairs.votes.confidence)
    rows = [(f"{level:g}", _n_given(pairs, level)) for level in levels[~np.isnan(levels)].tolist()]
    caption = _("Confidence of votes: %(question)s") % {"question": question.title}
    return Figure(f"preferences-{question.key}-confidences", caption, value_bars(caption, rows))


def _n_given(pairs: PreferenceVotes, level: float) -> int:
    return int((pairs.votes.confidence == level).sum())


def confidence_blocks(votes: Votes, pairs: PreferenceVotes, settings: ReportSettings) -> Iterator[Block]:
    if np.isnan(pairs.votes.confidence).all():
        return
    yield _levels(pairs, settings)
    yield _strata(pairs, settings)


def _levels(pairs: PreferenceVotes, settings: ReportSettings) -> Table:
    """Figure 4 of CMI-RewardBench in numbers, and the calibration of people against each other."""
    question, confidence = pairs.votes.question, pairs.votes.confidence
    early = pairs.first_votes
    decided = early.select(early.decided)
    agrees = agrees_with_others(decided.votes.unit, decided.second)
    by_clusters = {
        by: agreement_by_confidence(
            decided.votes.confidence, agrees, clusters=decided.clusters(by), resampling=settings.resampling
        )
        for by in pairs.clusterings
    }
    has_confidence = ~np.isnan(confidence)
    columns = [
        Column("confidence", _("Confidence")),
        Column("votes", _("Votes"), "count"),
        Column("share", _("Of all votes"), "percent", 1),
        Column("compared", _("With a majority of others"), "count"),
        *cluster_columns("with_others", _("Agree with it"), by_clusters, "percent", 1),
    ]
    at = {by: {one.level: one for one in levels} for by, levels in by_clusters.items()}
    rows: list[tuple[Cell, ...]] = []
    for level in np.unique(confidence[has_confidence]).tolist():
        n = int((confidence == level).sum())
        shares = [at[by][level].with_others if level in at[by] else None for by in by_clusters]
        compared = shares[0].n if shares[0] else 0
        cells = [Measured(None) if share is None else measured_share(share) for share in shares]
        rows.append((f"{level:g}", n, n / int(has_confidence.sum()), compared, *cells))
    notes = [
        _(
            "Agreement of a vote with the majority of the other votes on the same pair; votes whose others are evenly "
            "split, ties and both bad are left out of it."
        ),
        _("Mean confidence %(mean)s; %(missing)s votes have none.")
        % {
            "mean": f"{np.sort(confidence[has_confidence]).mean():.3f}",
            "missing": f"{int((~has_confidence).sum()):,}",
        },
        resampled([(by, _n_clusters(decided, by)) for by in by_clusters], settings.resampling),
        *first_votes_note([pairs]),
    ]
    caption = _("Confidence: %(question)s") % {"question": question.title}
    return Table(f"preferences-{question.key}-confidence", caption, columns, rows, notes)


def _n_clusters(pairs: PreferenceVotes, by: str) -> int:
    return len(np.unique(pairs.clusters(by)))


def _strata(pairs: PreferenceVotes, settings: ReportSettings) -> Table:
    """Agreement among those who were unsure, middling and sure: below, at and above the middle of the scale."""
    question, early = pairs.votes.question, pairs.first_votes
    confidence, middle = early.votes.confidence, middle_confidence(question)
    assert middle is not None  # confidences were given
    columns = (Column("confidence", _("Confidence")), *_pair_columns("units"))
    strata: tuple[tuple[str, BoolArray], ...] = (
        (f"< {middle:g}", np.asarray(confidence < middle)),
        (f"= {middle:g}", np.asarray(confidence == middle)),
        (f"> {middle:g}", np.asarray(confidence > middle)),
    )
    rows = [
        (name, *_pair_agreement(early.select(within & early.decided), settings)[1]) for name, within in strata
    ]
    notes = [
        _("Among the votes of each row alone, where two or more of them prefer a side of the same pair."),
        _("Rates: prompts resampled; alpha: as in the section on agreement."),
        *first_votes_note([pairs]),
    ]
    caption = _("Agreement by confidence: %(question)s") % {"question": question.title}
    return Table(f"preferences-{question.key}-confidence-agreement", caption, columns, rows, notes)
