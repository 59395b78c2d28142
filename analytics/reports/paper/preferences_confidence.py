"""How sure raters were, and whether those who were surer agree more with the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.questions import MeasuredQuestion
from analytics.reports.document import Block, Cell, Column, Measured, Table
from analytics.reports.paper.material import ReportSettings
from analytics.reports.paper.preferences_votes import PROMPT, PairVotes
from analytics.reports.paper.preferences_words import by_cluster, first_votes_note, measured_share, resampled
from analytics.reports.paper.readings import Reading, agreement_of, measured
from analytics.statistics.preference_agreement import pair_agreement
from analytics.statistics.vote_confidence import agrees_with_others, by_confidence
from analytics.vote_frames import BoolArray, Votes
from annotation.models import Question
from annotation.services.protocols import loaded

_SIDES = Reading("nominal", symmetric=True)


def confidence_blocks(votes: Votes, pairs: PairVotes, settings: ReportSettings) -> Iterator[Block]:
    if np.isnan(pairs.votes.confidence).all():
        return
    yield _levels(pairs, settings)
    yield _strata(pairs, settings)


def _levels(pairs: PairVotes, settings: ReportSettings) -> Table:
    """Figure 4 of CMI-RewardBench in numbers, and the calibration of people against each other."""
    question, confidence = pairs.votes.question, pairs.votes.confidence
    early = pairs.first_votes
    decided = early.select(early.decided)
    agrees = agrees_with_others(decided.votes.unit, decided.second)
    found = {
        by: by_confidence(
            decided.votes.confidence, agrees, clusters=decided.clusters(by), resampling=settings.resampling
        )
        for by in pairs.clusterings
    }
    given = ~np.isnan(confidence)
    columns = [
        Column("confidence", _("Confidence")),
        Column("votes", _("Votes"), "count"),
        Column("share", _("Of all votes"), "percent", 1),
        Column("compared", _("With a majority of others"), "count"),
    ]
    columns += [
        Column(
            f"with_others_by_{by}", by_cluster(_("Agree with it"), by, clusterings=list(found)), "percent", 1
        )
        for by in found
    ]
    at = {by: {one.level: one for one in levels} for by, levels in found.items()}
    rows: list[tuple[Cell, ...]] = []
    for level in np.unique(confidence[given]).tolist():
        n = int((confidence == level).sum())
        shares = [at[by][level].with_others if level in at[by] else None for by in found]
        compared = shares[0].n if shares[0] else 0
        cells = [Measured(None) if share is None else measured_share(share) for share in shares]
        rows.append((f"{level:g}", n, n / int(given.sum()), compared, *cells))
    notes = [
        _(
            "Agreement of a vote with the majority of the other votes on the same pair; votes whose others are evenly "
            "split, ties and both bad are left out of it."
        ),
        _("Mean confidence %(mean)s; %(missing)s votes have none.")
        % {"mean": f"{np.sort(confidence[given]).mean():.3f}", "missing": f"{int((~given).sum()):,}"},
        resampled([(by, _n_clusters(decided, by)) for by in found], settings.resampling),
        *first_votes_note([pairs]),
    ]
    caption = _("Confidence: %(question)s") % {"question": question.title}
    return Table(f"preferences-{question.key}-confidence", caption, columns, rows, notes)


def _n_clusters(pairs: PairVotes, by: str) -> int:
    return len(np.unique(pairs.clusters(by)))


def _strata(pairs: PairVotes, settings: ReportSettings) -> Table:
    """Agreement among those who were unsure, middling and sure: below, at and above the middle of the scale."""
    question, early = pairs.votes.question, pairs.first_votes
    confidence, middle = early.votes.confidence, _middle(question)
    columns = (
        Column("confidence", _("Confidence")),
        Column("units", _("Comparisons"), "count"),
        Column("votes", _("Votes"), "count"),
        Column("agreements", _("Pairs that agree"), "count"),
        Column("disagreements", _("Pairs that disagree"), "count"),
        Column("rate", _("Agreement rate"), "percent", 1),
        Column("alpha", _("Alpha, sides interchangeable"), "number", 3),
    )
    strata: tuple[tuple[str, BoolArray], ...] = (
        (f"< {middle:g}", np.asarray(confidence < middle)),
        (f"= {middle:g}", np.asarray(confidence == middle)),
        (f"> {middle:g}", np.asarray(confidence > middle)),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, here in strata:
        chosen = early.select(here & early.decided)
        found = pair_agreement(
            chosen.votes.unit, chosen.second, clusters=chosen.clusters(PROMPT), resampling=settings.resampling
        )
        alpha = measured(agreement_of(chosen.votes, _SIDES, settings))
        rate = measured_share(found.agreeing)
        rows.append((name, found.units, found.votes, found.agreeing.hits, found.disagreements, rate, alpha))
    notes = [
        _("Among the votes of each row alone, where two or more of them prefer a side of the same pair."),
        _("Rates: prompts resampled; alpha: as in the section on agreement."),
        *first_votes_note([pairs]),
    ]
    caption = _("Agreement by confidence: %(question)s") % {"question": question.title}
    return Table(f"preferences-{question.key}-confidence-agreement", caption, columns, rows, notes)


def _middle(question: MeasuredQuestion) -> float:
    """Of the scale of confidence, as the newest version that asks alike has it."""
    row = Question.objects.filter(pk__in=question.ids).order_by("-protocol_version__number")[0]
    asked = loaded(row.protocol_version_id).spec.question(row.key)
    assert asked is not None  # the row was made from it
    assert asked.confidence is not None  # confidences were given
    return (min(asked.confidence.values) + max(asked.confidence.values)) / 2
