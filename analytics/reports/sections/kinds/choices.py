"""Choices: how often each option was chosen or ticked, by system, and how far raters tick alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.votes import Votes
from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Section, Table
from analytics.reports.reasons import RANKING, measured
from analytics.reports.sections.material import ReportData, ReportSettings
from analytics.statistics.agreement.set_agreement import Chosen, set_agreement
from analytics.statistics.arrays import BoolArray, IntArray
from analytics.statistics.intervals import clustered_share
from annotation.models import Question


def choices_section(material: ReportData) -> Section | None:
    kinds = (Question.Kind.CHOICE, Question.Kind.CHOICES)
    chosen = [votes.counted() for votes in material.votes if votes.question.kind in kinds]
    blocks: list[Block] = []
    for _key, group in groupby(chosen, key=lambda votes: votes.question.question_key):
        blocks += _question_blocks(list(group), material.settings)
    return Section("choices", _("Choices"), blocks) if blocks else None


def _question_blocks(options: Sequence[Votes], settings: ReportSettings) -> Iterator[Block]:
    """`options`: one, whose values are the numbers of options; or the votes on each of several options."""
    first, title = options[0], _question_title(options[0])
    if not len(first):
        yield Paragraph(_("%(question)s: nobody has answered yet.") % {"question": title}, warning=True)
        return
    yield _shares(options, title, settings)
    if first.question.option is not None:
        yield _sets(options, title)


def _question_title(votes: Votes) -> str:
    question = votes.question
    if question.option is None:
        return question.title
    return question.title.removesuffix(question.options[question.option - 1]).strip()


def _shares(options: Sequence[Votes], title: str, settings: ReportSettings) -> Table:
    question = options[0].question
    columns = [
        Column("system", _("System")),
        *(Column(f"option_{n}", name, "percent", 1) for n, name in enumerate(question.options, start=1)),
        Column("answers", _("Answers"), "count"),
    ]
    everything = np.ones(len(options[0]), dtype=bool)
    rows = [_row(_("All"), options, everything, settings)]
    if question.per_candidate or question.one_candidate:
        system = options[0].units.first[options[0].unit]
        for number in np.unique(system[system >= 0]).tolist():
            rows.append(_row(options[0].systems[number], options, system == number, settings))
    notes = [_("%(level)s intervals from resampled prompts, each with all its answers.")
             % {"level": f"{100 * settings.resampling.level:g} %"}]  # fmt: skip
    if question.option is not None:
        notes.append(_("Several options may be ticked, so the shares need not add up to 100 %."))
    caption = _("How often each option was chosen: %(question)s") % {"question": title}
    return Table(f"choices-{question.question_key}", caption, columns, rows, notes)


def _row(name: str, options: Sequence[Votes], of: BoolArray, settings: ReportSettings) -> list[Cell]:
    first = options[0]
    values = [first.value == n for n in range(1, len(first.question.options) + 1)]
    if first.question.option is not None:
        values = [votes.value == 1 for votes in options]
    prompt = first.units.prompt[first.unit[of]]
    shares = [_share(value[of], prompt, settings) for value in values]
    return [name, *shares, int(of.sum())]


def _share(chosen: BoolArray, prompt: IntArray, settings: ReportSettings) -> Measured:
    share = clustered_share(
        chosen.astype(np.int64),
        np.ones(len(chosen), dtype=np.int64),
        clusters=prompt,
        resampling=settings.resampling,
    )
    return measured(share.value, share.interval, share.reason, RANKING)


def _sets(options: Sequence[Votes], title: str) -> Table:
    """Each answer is a set of options; its votes on the options stand in the same order in each column."""
    first = options[0]
    ticked = np.stack([votes.value == 1 for votes in options], axis=1)
    units: dict[int, list[Chosen]] = {}
    for unit, chosen in zip(first.unit.tolist(), ticked, strict=True):
        units.setdefault(unit, []).append(frozenset(np.flatnonzero(chosen).tolist()))
    agreement = set_agreement(list(units.values()))
    columns = (
        Column("pairs", _("Pairs of answers"), "count"),
        Column("equal", _("Same options"), "percent", 1),
        Column("masi", "MASI", "number", 3),
        Column("mean_options", _("Options per answer"), "number", 2),
    )
    caption = _("How far raters tick the same options: %(question)s") % {"question": title}
    notes = [
        _("MASI: the mean of what two sets share, weighed by whether one holds the other (Passonneau, 2006).")
    ]
    row: list[Cell] = [agreement.pairs, agreement.equal, agreement.masi, float(ticked.sum(axis=1).mean())]
    return Table(f"choices-{first.question.question_key}-sets", caption, columns, [row], notes)
