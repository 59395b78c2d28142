"""How far raters agree: Krippendorff's alpha of every question, at every level that makes sense, and by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.votes import COUNTED, EXCLUDED_BY_REVIEW, NOBODY, Votes
from analytics.reports.agreement import (
    ReliabilityReading,
    agreement_of,
    leading_reading,
    measured_alpha,
    patterns_of,
    readings,
    votes_for_agreement,
)
from analytics.reports.document import Block, Cell, Column, Figure, Measured, Paragraph, Section, Table
from analytics.reports.reasons import reason_sentence
from analytics.reports.render.interval_plot import Block as PlotBlock
from analytics.reports.render.interval_plot import Point, interval_plot
from analytics.reports.sections.hints import not_independent
from analytics.reports.sections.material import ReportData, ReportSettings, named_raters, put_back
from analytics.statistics.agreement.percent_agreement import percent_agreement
from analytics.statistics.raters.rater_agreement import self_consistency

# Systems, strata and periods beyond this would make a table that nobody reads; the export has the votes themselves.
MOST_PARTS = 60
_DAY = 86_400.0


@dataclass(frozen=True)
class VotePart:
    """`by`: how the votes are cut; `name`: which piece this is."""

    by: str
    name: str
    votes: Votes


def vote_parts(votes: Votes) -> Iterator[VotePart]:
    """From all votes with their marks; each part has what agreement may rest on, but for the one that has all votes."""
    counted = votes_for_agreement(votes.counted())
    yield from _strata(counted)
    yield from _systems(counted)
    yield from _periods(counted)
    yield from _review(votes)
    yield from _exclusions(votes)
    yield from _overlap(votes.counted())


def _strata(votes: Votes) -> Iterator[VotePart]:
    for key in sorted(votes.units.strata):
        stratum = votes.units.strata[key]
        if 1 < len(stratum.values) <= MOST_PARTS:
            of_vote = stratum.of_unit[votes.unit]
            for number, value in enumerate(stratum.values):
                yield VotePart(key, value, votes.select(of_vote == number))


def _systems(votes: Votes) -> Iterator[VotePart]:
    """A comparison belongs to both its systems."""
    first, second = votes.units.first[votes.unit], votes.units.second[votes.unit]
    present = [system for system in np.unique(np.concatenate([first, second])).tolist() if system != NOBODY]
    if 1 < len(present) <= MOST_PARTS:
        for system in present:
            yield VotePart(
                _("system"), votes.systems[system], votes.select((first == system) | (second == system))
            )


def _periods(votes: Votes) -> Iterator[VotePart]:
    """By day, week or month (UTC), whichever gives a readable number; only votes of the same period are compared."""
    if not len(votes):
        return
    span = (votes.at.max() - votes.at.min()) / _DAY
    period = "%Y-%m-%d" if span <= 14 else "%G-W%V" if span <= 26 * 7 else "%Y-%m"
    starts, number = np.unique(np.floor(votes.at / _DAY), return_inverse=True)
    labels = [datetime.fromtimestamp(day * _DAY, UTC).strftime(period) for day in starts.tolist()]
    distinct = list(dict.fromkeys(labels))
    if 1 < len(distinct) <= MOST_PARTS:
        of_day = np.array([distinct.index(label) for label in labels])
        for place, label in enumerate(distinct):
            yield VotePart(_("time"), label, votes.select(of_day[number] == place))


def _review(votes: Votes) -> Iterator[VotePart]:
    """Before and after the review, in the words of `analytics.data.review`."""
    corrected = votes.units.corrected[votes.unit]
    aside = votes.status == EXCLUDED_BY_REVIEW
    if not (corrected.any() or aside.any()):
        return
    counted, first_time = votes.status == COUNTED, ~votes.again
    named = (
        (_("before"), ~corrected & (counted | aside)),
        (_("set aside by it"), ~corrected & aside),
        (_("kept"), ~corrected & counted),
        (_("of corrected texts"), corrected & counted),
        (_("after"), counted),
    )
    for name, chosen in named:
        yield VotePart(_("review"), name, votes_for_agreement(votes.select(chosen & first_time)))


def _exclusions(votes: Votes) -> Iterator[VotePart]:
    backs = put_back(votes)
    if backs:
        yield VotePart(_("exclusions"), _("without excluded votes"), votes_for_agreement(votes.counted()))
    for back in backs:
        yield VotePart(_("exclusions"), back.label, votes_for_agreement(back.votes))


def _overlap(votes: Votes) -> Iterator[VotePart]:
    first = votes.question.first_votes
    if first is not None:
        yield VotePart(
            _("overlap"), _("the first %(n)s of each unit") % {"n": first}, votes_for_agreement(votes)
        )
        yield VotePart(_("overlap"), _("all votes"), votes)


# One part with two units would draw all the others together.
_LOWEST = -1.0


def agreement_section(material: ReportData) -> Section | None:
    questions = [votes for votes in material.votes if len(votes)]
    if not questions:
        return None
    settings = material.settings
    blocks: list[Block] = [
        *_warnings(material),
        _overview(questions, settings),
        _by_level(questions, settings),
        _percent(questions),
    ]
    for votes in questions:
        if parts := list(vote_parts(votes)):
            table = _by_part(votes, parts, settings)
            blocks += [table, _figure(votes, table, settings)]
    return Section("agreement", _("Agreement"), blocks)


def _warnings(material: ReportData) -> Iterator[Paragraph]:
    yield from not_independent(material)
    for votes in material.votes:
        question = votes.question
        if question.first_votes is not None and len(votes):
            text = _(
                "%(question)s: more votes are asked for while the first ones differ, so agreement rests on the first "
                "%(n)s of each unit; all of them together would misstate it."
            )
            yield Paragraph(text % {"question": question.title, "n": question.first_votes})
        if question.other_versions:
            versions = ", ".join(map(str, question.other_versions))
            text = _(
                "%(question)s: answers under protocol version %(versions)s are on another scale and left out."
            )
            yield Paragraph(text % {"question": question.title, "versions": versions}, warning=True)
        if len(votes) and named_raters(votes) == 1 and not (votes.rater == NOBODY).any():
            text = _("%(question)s: one rater gave all votes, so there is nobody to agree with.")
            yield Paragraph(text % {"question": question.title}, warning=True)


def _overview(questions: list[Votes], settings: ReportSettings) -> Table:
    columns = (
        Column("question", _("Question")),
        Column("level", _("Level")),
        *_figures(),
        Column("raters", _("Raters"), "count"),
        Column("themselves", _("With themselves"), "percent", 1),
    )
    rows = []
    for votes in questions:
        counted, reading = votes_for_agreement(votes.counted()), leading_reading(votes.question)
        row = _row(counted, reading, settings)
        rows.append(
            (votes.question.title, reading.title, *row, named_raters(counted), _with_themselves(votes))
        )
    return Table("agreement", _("Krippendorff's alpha"), columns, rows, [*_notes(questions)])


def _by_level(questions: list[Votes], settings: ReportSettings) -> Table:
    columns = (
        Column("question", _("Question")),
        Column("level", _("Level")),
        Column("alpha", _("Alpha"), "number", 3),
        Column("units", _("Units"), "count"),
        Column("ratings", _("Ratings"), "count"),
    )
    rows: list[tuple[Cell, ...]] = []
    for votes in questions:
        counted = votes_for_agreement(votes.counted())
        for reading in readings(votes.question, counted):
            agreement = agreement_of(counted, reading, settings)
            n = (agreement.pairable_units, agreement.pairable_ratings)
            rows.append((votes.question.title, reading.title, measured_alpha(agreement), *n))
    notes = []
    if any(votes.question.is_preference for votes in questions):
        notes.append(
            _(
                "Which candidate of a comparison is stored first is arbitrary. Only the figure with interchangeable "
                "sides does not depend on it; the others are for comparison with published ones."
            )
        )
    return Table("agreement-levels", _("Alpha at every level of measurement"), columns, rows, notes)


def _percent(questions: list[Votes]) -> Table:
    columns = (
        Column("question", _("Question")),
        Column("pooled_pairs", _("Of all pairs"), "percent", 1),
        Column("per_unit", _("Mean of units"), "percent", 1),
        Column("observed", _("Weighted by ratings"), "percent", 1),
        Column("units", _("Units"), "count"),
        Column("pairs", _("Pairs"), "count"),
    )
    rows: list[tuple[Cell, ...]] = []
    for votes in questions:
        agreement = percent_agreement(
            patterns_of(votes_for_agreement(votes.counted()), ReliabilityReading("nominal"))
        )
        shares = (agreement.pooled_pairs, agreement.per_unit_mean, agreement.observed)
        cells = [Measured(share, reason=reason_sentence(agreement.reason)) for share in shares]
        rows.append((votes.question.title, *cells, agreement.pairable_units, agreement.pairs))
    notes = [
        _(
            "Equal pairs of ratings of a unit, not corrected for chance: of all pairs together (a unit weighs as many "
            "as it has), averaged over units, and 1 less the observed disagreement of nominal alpha."
        )
    ]
    if any(votes.question.is_preference for votes in questions):
        notes.append(
            _(
                "Here ties and “both bad” count as answers; equal pairs beside an alpha are of the votes that the "
                "alpha is of."
            )
        )
    return Table("agreement-percent", _("Percent agreement"), columns, rows, notes)


def _by_part(votes: Votes, parts: list[VotePart], settings: ReportSettings) -> Table:
    reading = leading_reading(votes.question)
    columns = [Column("by", _("By")), Column("part", _("Part")), *_figures()]
    rows = [[part.by, part.name, *_row(part.votes, reading, settings)] for part in parts]
    caption = _("Agreement by part: %(question)s (%(level)s)")
    notes = []
    if reading.symmetric:
        columns.append(Column("nominal", _("Nominal alpha"), "number", 3))
        for row, part in zip(rows, parts, strict=True):
            row.append(measured_alpha(agreement_of(part.votes, ReliabilityReading("nominal"), settings)))
        notes.append(_("Nominal alpha is of the sides as stored, ties and all, as papers often print it."))
    if votes.question.is_preference and any(part.by == _("system") for part in parts):
        notes.append(_("A comparison counts for both of its systems."))
    return Table(
        f"agreement-{votes.question.key}-parts",
        caption % {"question": votes.question.title, "level": reading.title},
        columns,
        rows,
        notes,
    )


def _figure(votes: Votes, table: Table, settings: ReportSettings) -> Figure:
    whole = measured_alpha(
        agreement_of(votes_for_agreement(votes.counted()), leading_reading(votes.question), settings)
    )
    blocks = {"": [_point(_("all"), whole)]}
    for by, name, alpha, *_rest in table.rows:
        assert isinstance(alpha, Measured)
        blocks.setdefault(str(by), []).append(_point(str(name), alpha))
    title = _("Alpha by part: %(question)s") % {"question": votes.question.title}
    plot = interval_plot(title, [PlotBlock(heading, points) for heading, points in blocks.items()])
    cut = any(point.low == _LOWEST for points in blocks.values() for point in points)
    note = _("intervals that reach below −1 are cut there; the table has them whole")
    return Figure(f"agreement-{votes.question.key}", f"{title} ({note})" if cut else title, plot)


def _point(name: str, alpha: Measured) -> Point:
    shown = "–" if alpha.value is None else f"{alpha.value:.3f}".replace("-", "−")
    value, low = (None if one is None else max(one, _LOWEST) for one in (alpha.value, alpha.low))
    return Point(name, value, low, alpha.high, shown)


def _figures() -> tuple[Column, ...]:
    return (
        Column("alpha", _("Alpha"), "number", 3),
        Column("percent", _("Equal pairs"), "percent", 1),
        Column("units", _("Units"), "count"),
        Column("ratings", _("Ratings"), "count"),
    )


def _row(votes: Votes, reading: ReliabilityReading, settings: ReportSettings) -> tuple[Cell, ...]:
    agreement = agreement_of(votes, reading, settings)
    equal = percent_agreement(patterns_of(votes, reading)).pooled_pairs
    return measured_alpha(agreement), equal, agreement.pairable_units, agreement.pairable_ratings


def _with_themselves(votes: Votes) -> Measured:
    """Low agreement between people who agree with themselves is a matter of taste, otherwise one of care."""
    sided = votes.select((votes.status == COUNTED) & (votes.rater != NOBODY))
    consistency = self_consistency(sided.unit, sided.rater, sided.value, level="nominal")
    return Measured(consistency.equal, reason=reason_sentence(consistency.reason))


def _notes(questions: list[Votes]) -> Iterator[str]:
    yield _(
        "1 is perfect agreement, 0 what chance would give. Units and ratings are those with two or more to compare; "
        "a rater's second answer to the same unit does not count. With themselves: the share of equal ones among the "
        "answers that a rater gave twice."
    )
    if any((votes.counted().rater == NOBODY).any() for votes in questions):
        yield _(
            "Some votes were imported without saying who gave them; such raters are taken as exchangeable."
        )
