"""Where the best scorer and people differ most: what a study's experts may want to look at next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Cell, Column, Table
from analytics.reports.paper.models_cells import count_column, number_column
from analytics.reports.paper.models_judged import Compared, Rated
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_scores import Contender
from analytics.statistics.bootstrap import Resampling
from analytics.statistics.correlation import linear_and_rank
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.logistic import probability
from analytics.statistics.pairwise_accuracy import pairwise_accuracy
from analytics.statistics.places import places
from analytics.text_frames import item_names

SHOWN = 20
# Which scorer is best takes its figure and no interval.
_ONCE = Resampling(replicates=1)


def missed_ratings(asked: Asked, found: Rated) -> Table | None:
    """By how far apart the places of an item are among all items, by score and by mean rating: scores need not be on
    the question's scale for that."""

    def rank_correlation(one: Contender) -> float | None:
        return linear_and_rank(one.of(found.candidate), found.mean, resampling=_ONCE)[1].value

    best = _best(asked.contenders, [rank_correlation(one) for one in asked.contenders])
    if best is None:
        return None
    scores = best.of(found.candidate)
    apart = places_apart(scores, found.mean)
    worst = _worst(apart)
    if not len(worst):
        return None
    names = item_names(found.item[worst].tolist())
    rows: list[list[Cell]] = [
        [
            names[int(found.item[row])], _system(asked, int(found.system[row])), int(found.n[row]),
            float(found.mean[row]), float(scores[row]), float(apart[row]),
        ]
        for row in worst
    ]  # fmt: skip
    return Table(
        key=asked.key("missed"),
        caption=_("What %(scorer)s misses: %(question)s") % {**asked.named, "scorer": best.name},
        columns=[
            Column("item", _("Item")), Column("system", _("System")), count_column("n", _("Ratings")),
            number_column("mean", _("Mean rating"), digits=2), number_column("score", _("Score")),
            Column("apart", _("Places apart"), "percent", 0),
        ],
        rows=rows,
        notes=[
            _("The scorer with the highest rank correlation; at most %(n)s items.") % {"n": SHOWN},
            _(
                "Places apart: how far an item’s place by score is from its place by mean rating, of all items with "
                "both; the whole way would be first by one and last by the other."
            ),
        ],
    )  # fmt: skip


def missed_preferences(asked: Asked, found: Compared) -> Table | None:
    """By how far the share of votes is from the scorer's probability."""

    def accuracy(one: Contender) -> float | None:
        leads = one.leads(found.first, found.second)
        return pairwise_accuracy(leads, found.lead, resampling=_ONCE).accuracy.value

    best = _best(asked.contenders, [accuracy(one) for one in asked.contenders])
    if best is None:
        return None
    leads = best.leads(found.first, found.second)
    first, second = found.votes[:, 0], found.votes[:, 1]
    chance = probability(best.logits(leads))
    share = np.divide(first, first + second, out=np.full(len(found), np.nan), where=first + second > 0)
    # Where people decide alike, this is the order of the leads.
    apart = np.where(leads * found.lead < 0, np.abs(share - chance), np.nan)
    worst = _worst(apart)
    if not len(worst):
        return None
    names = item_names(found.item[worst].tolist())
    rows = [_pair_row(asked, found, int(row), names, float(leads[row]), float(chance[row])) for row in worst]
    return Table(
        key=asked.key("missed"),
        caption=_("What %(scorer)s misses: %(question)s") % {**asked.named, "scorer": best.name},
        columns=[
            Column("item", _("Item")), Column("preferred", _("People prefer")), Column("other", _("over")),
            count_column("for", _("Votes for it")), count_column("against", _("Votes for the other")),
            count_column("neither", _("Votes for neither")), number_column("lead", _("Its lead by score")),
            number_column("probability", _("Its probability"), digits=2),
        ],
        rows=rows,
        notes=[
            _("The most accurate scorer; at most %(n)s pairs, of those in which it prefers the other.") % {"n": SHOWN}
        ],
    )  # fmt: skip


def places_apart(scores: FloatArray, humans: FloatArray) -> FloatArray:
    """(n,) 0 to 1; NaN without a score."""
    known = np.isfinite(scores) & np.isfinite(humans)
    apart = np.full(len(scores), np.nan)
    apart[known] = np.abs(places(scores[known]) - places(humans[known]))
    return apart


def _pair_row(
    asked: Asked, found: Compared, row: int, names: dict[int, str], lead: float, chance: float
) -> list[Cell]:
    unit, votes = found.unit[row], [int(n) for n in found.votes[row]]
    units = asked.votes.units
    systems = [_system(asked, int(side)) for side in (units.first[unit], units.second[unit])]
    if found.lead[row] < 0:
        systems, votes, lead, chance = systems[::-1], [votes[1], votes[0], votes[2]], -lead, 1 - chance
    return [names[int(found.item[row])], *systems, *votes, lead, chance]


def _best(contenders: Sequence[Contender], figures: Sequence[float | None]) -> Contender | None:
    """The first of the best, in the order in which scorers are listed."""
    known = [(figure, one) for figure, one in zip(figures, contenders, strict=True) if figure is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def _worst(apart: FloatArray) -> IntArray:
    """The rows that are furthest apart; equals stay in order."""
    rows = np.argsort(-apart, kind="stable")
    return np.asarray(
        [row for row in rows if np.isfinite(apart[row]) and apart[row] > 0][:SHOWN], dtype=np.int64
    )


def _system(asked: Asked, number: int) -> str:
    return asked.votes.systems[number] if number >= 0 else ""
