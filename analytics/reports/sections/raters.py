"""Each rater among the others: how often they agree, how high they rate, and what agreement would be without them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.data.postgres import BoolArray
from analytics.data.votes import COUNTED, NOBODY, Votes
from analytics.reports.agreement import (
    ReliabilityReading,
    leading_reading,
    values_of,
    votes_for_agreement,
)
from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Section, Table
from analytics.reports.reasons import reason_sentence
from analytics.reports.sections.material import ReportData
from analytics.statistics.agreement.alpha import alpha_at
from analytics.statistics.agreement.disagreement import AnyLevel
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.arrays import IntArray
from analytics.statistics.raters.rater_agreement import RaterAgreement, one_left_out
from annotation.models import Answer
from annotation.onboarding import demographics
from annotation.onboarding.rules import PREFER_NOT_TO_SAY, SMALLEST_CELL, in_language


def raters_section(material: ReportData) -> Section | None:
    blocks: list[Block] = [_table(votes) for votes in material.votes if (votes.rater != NOBODY).any()]
    if not blocks:
        if not any(len(votes) for votes in material.votes):
            return None
        text = _(
            "The votes were imported without saying who gave them, so nothing can be said of single raters."
        )
        blocks = [Paragraph(text)]
    return Section("raters", _("Raters"), [*blocks, *_group_tables(material)])


def _group_tables(material: ReportData) -> Iterator[Table]:
    """Agreement by demographic group, of groups with enough raters to show."""
    counted = [votes.counted() for votes in material.votes]
    names = {
        votes.raters[number] for votes in counted for number in np.unique(votes.rater) if number != NOBODY
    }
    groups = list(demographics.groups(material.study, names))
    if not groups:
        return
    agreement = [
        _left_out(votes_for_agreement(votes), leading_reading(votes.question))[0] for votes in counted
    ]
    columns = [
        Column("group", _("Group")),
        Column("raters", _("Raters"), "count"),
        Column("votes", _("Votes"), "count"),
        *(
            Column(
                f"equal-{votes.question.key}",
                _("Equal: %(question)s") % {"question": votes.question.title},
                "percent",
                1,
            )
            for votes in counted
        ),
    ]
    language = get_language() or "en"
    for question, chosen in groups:
        rows = []
        for key, texts in (*question.options, (PREFER_NOT_TO_SAY, {})):
            members = {rater for rater, answer in chosen.items() if answer == key}
            if members:
                label = in_language(texts, language) if texts else _("Prefer not to say")
                rows.append(tuple(_group_cells(label, members, counted, agreement)))
        note = _(
            "Groups of fewer than %(least)s raters are left out, and others whose size would follow from the rest. "
            "Equal: of the pairs of one of their answers with another rater's to the same unit."
        )
        yield Table(
            f"raters-by-{question.key}",
            in_language(question.texts, language),
            columns,
            rows,
            [note % {"least": SMALLEST_CELL}],
        )


def _group_cells(
    label: str, members: set[str], counted: list[Votes], agreement: list[dict[int, RaterAgreement]]
) -> Iterator[Cell]:
    numbers = [[n for n, rater in enumerate(votes.raters) if rater in members] for votes in counted]
    yield label
    yield len(members)
    yield sum(int(np.isin(votes.rater, own).sum()) for votes, own in zip(counted, numbers, strict=True))
    for by_rater, own in zip(agreement, numbers, strict=True):
        known = [by_rater[n] for n in own if n in by_rater and by_rater[n].equal is not None]
        pairs = sum(one.pairs for one in known)
        yield sum((one.equal or 0.0) * one.pairs for one in known) / pairs if pairs else None


def _table(votes: Votes) -> Table:
    question, reading = votes.question, leading_reading(votes.question)
    counted = votes.counted()
    by_rater, alpha = _left_out(votes_for_agreement(counted), reading)
    scale = question.is_rating and question.level != "nominal"
    columns = [
        Column("rater", _("Rater")),
        Column("votes", _("Votes"), "count"),
        Column("excluded", _("Excluded"), "count"),
        Column("equal", _("Equal to others"), "percent", 1),
        Column("pairs", _("Pairs"), "count"),
        Column("alpha_without", _("Alpha without"), "number", 3),
        Column("change", _("Change"), "number", 3),
        *([Column("above_others", _("Above others"), "number", 2)] if scale else []),
        *(
            [
                Column("shown_first", _("For the side shown first"), "percent", 1),
                Column("ties", _("Ties"), "percent", 1),
            ]
            if question.is_preference
            else []
        ),
        Column("seconds", _("Median seconds"), "number", 1),
    ]
    # By pseudonym.
    numbers = np.unique(votes.rater[votes.rater != NOBODY]).tolist()
    rows = [tuple(_cells(votes, counted, one, by_rater.get(one), alpha, scale=scale)) for one in numbers]
    caption = _("Raters: %(question)s (%(level)s)") % {"question": question.title, "level": reading.title}
    return Table(f"raters-{question.key}", caption, columns, rows, list(_notes(alpha, scale=scale)))


def _cells(
    votes: Votes,
    counted: Votes,
    number: int,
    agreement: RaterAgreement | None,
    alpha: float | None,
    *,
    scale: bool,
) -> Iterator[Cell]:
    own, their = counted.rater == number, votes.rater == number
    yield votes.raters[number]
    yield int(own.sum())
    yield int((their & (votes.status != COUNTED)).sum())
    yield agreement.equal if agreement else None
    yield agreement.pairs if agreement else 0
    without = agreement.alpha_without if agreement else None
    yield Measured(
        without, reason=reason_sentence(agreement.reason) if agreement and without is None else None
    )
    yield None if alpha is None or without is None else without - alpha
    if scale:
        yield agreement.above_others if agreement else None
    if votes.question.is_preference:
        yield _for_first_shown(counted, own)
        yield _share((counted.value == Answer.Choice.TIE)[own])
    seconds = counted.seconds[own]
    timed = seconds[~np.isnan(seconds)]
    yield float(np.median(timed)) if len(timed) else None


def _left_out(votes: Votes, reading: ReliabilityReading) -> tuple[dict[int, RaterAgreement], float | None]:
    """What is known of each named rater, and alpha of everybody at the same reading."""
    values = values_of(votes, reading)
    level: AnyLevel = "symmetric" if reading.symmetric else reading.level
    agreement = one_left_out(votes.unit, _everybody(votes), values, level=level)
    patterns = patterns_from_long(votes.unit, values)
    whole = alpha_at(patterns, level)
    return {int(one.rater): one for one in agreement if one.rater < len(votes.raters)}, whole.alpha


def _everybody(votes: Votes) -> IntArray:
    """Numbers of the raters, where unnamed ones, of whom nobody is asked, get as many as one unit has of them."""
    rater = votes.rater.copy()
    unnamed = np.flatnonzero(rater == NOBODY)
    if len(unnamed):
        order = unnamed[np.argsort(votes.unit[unnamed], kind="stable")]
        starts = np.flatnonzero(np.diff(votes.unit[order], prepend=-1))
        sizes = np.diff(starts, append=len(order))
        rater[order] = len(votes.raters) + np.arange(len(order)) - np.repeat(starts, sizes)
    return rater


def _for_first_shown(votes: Votes, own: BoolArray) -> float | None:
    sided = own & np.isin(votes.value, (Answer.Choice.FIRST, Answer.Choice.SECOND))
    sided &= votes.shown_first != NOBODY
    return _share((votes.value - 1 == votes.shown_first)[sided])


def _share(hits: BoolArray) -> float | None:
    return float(hits.mean()) if len(hits) else None


def _notes(alpha: float | None, *, scale: bool) -> Iterator[str]:
    if alpha is not None:
        text = _(
            "Change: alpha without the rater less alpha of all (%(alpha)s); above zero, the others agree better."
        )
        yield text % {"alpha": f"{alpha:.3f}".replace("-", "−")}
    yield _(
        "Equal to others: of the pairs of one of their answers with another rater's to the same unit. Few pairs make "
        "for figures far from the true ones: none of them is a verdict by itself."
    )
    if scale:
        yield _(
            "Above others: by how much the rater's ratings exceed the mean of the others' in the same unit."
        )
