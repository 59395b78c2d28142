"""How often each value was given: by all, by system, and before and after the review."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.figures.paired_bars import paired_bars
from analytics.figures.stacked_bars import stacked_bars
from analytics.figures.value_bars import value_bars
from analytics.reports.document import Block, Cell, Column, Figure, Table
from analytics.reports.paper.rated import Rated
from analytics.statistics.distinct_rows import IntArray
from analytics.statistics.value_bins import Bins, bins
from analytics.vote_frames import COUNTED, EXCLUDED_BY_REVIEW, Votes


def distribution(rated: Rated, order: list[int]) -> Iterator[Block]:
    """`order`: the systems as the other tables list them."""
    before, after = before_review(rated.votes), rated.counted
    found = bins(np.concatenate([before.value, after.value]), points=rated.question.points, ends=rated.ends)
    if not found.labels:
        return
    yield _histogram(rated, found, before)
    rows = [(_("All"), found.counts(after.value))]
    if len(order) > 1:
        of = rated.ratings.system
        rows += [(rated.votes.systems[one], found.counts(after.value[of == one])) for one in order]
    yield _table(rated, found, rows)
    if len(rows) > 1:
        title = _("Shares of ratings by system: %(question)s") % {"question": rated.question.title}
        svg = stacked_bars(title, found.labels, [(name, n.tolist()) for name, n in rows], on_its_own=False)
        yield Figure(rated.key("shares"), title, svg)


def before_review(votes: Votes) -> Votes:
    """What raters said of the texts that the review found, whether it keeps it or not."""
    standing = (votes.status == COUNTED) | (votes.status == EXCLUDED_BY_REVIEW)
    return votes.select(standing & ~votes.again & ~votes.units.corrected[votes.unit])


def reviewed(votes: Votes) -> bool:
    """Whether the review kept out a vote, or a vote is about what a correction made."""
    return bool((votes.status == EXCLUDED_BY_REVIEW).any() or votes.units.corrected[votes.unit].any())


def _histogram(rated: Rated, found: Bins, before: Votes) -> Figure:
    after = found.counts(rated.ratings.value)
    if not reviewed(rated.votes):
        title = _("How often each value was given: %(question)s") % {"question": rated.question.title}
        svg = value_bars(title, list(zip(found.labels, after.tolist(), strict=True)), on_its_own=False)
        return Figure(rated.key("values"), title, svg)
    title = _("How often each value was given, before and after the review: %(question)s") % {
        "question": rated.question.title
    }
    rows = list(zip(found.labels, found.counts(before.value).tolist(), after.tolist(), strict=True))
    svg = paired_bars(title, (_("Before the review"), _("After the review")), rows, on_its_own=False)
    return Figure(rated.key("values"), title, svg)


def _table(rated: Rated, found: Bins, rows: list[tuple[str, IntArray]]) -> Table:
    columns = [Column("system", _("System")), Column("ratings", _("Ratings"), "count")]
    columns += [Column(f"n_{label}", label, "count") for label in found.labels]
    cells: list[list[Cell]] = [[name, int(n.sum()), *map(int, n)] for name, n in rows]
    notes = []
    if reviewed(rated.votes):
        notes.append(_("Ratings that count now, after the review."))
    if found.ranges:
        notes.append(_("A range holds its lower end; the last one holds both ends."))
    title = _("Ratings by value: %(question)s") % {"question": rated.question.title}
    return Table(rated.key("distribution"), title, columns, cells, notes)
