"""What was collected, what of it counts, and why the rest does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics import judgment_counts, vote_frames
from analytics.judgment_counts import COUNTED, EXCLUDED, EXPERT, SUPERSEDED, SURPLUS, Fate
from analytics.reports.document import Block, Column, Paragraph, Section, Table
from analytics.reports.paper.material import Material
from analytics.reports.paper.origins import origin_warnings
from analytics.reports.paper.words import level_word, numbers
from analytics.vote_frames import EXCLUDED_BY_REVIEW, NOBODY, Votes
from annotation.rules import stopping


def data_section(material: Material) -> Section | None:
    fates = judgment_counts.fates(material.study)
    blocks: list[Block] = [_collected(material, fates), *origin_warnings(material)]
    if material.votes:
        blocks.append(_questions(material))
    else:
        blocks.append(
            Paragraph(_("This study asks nothing on a scale of measurement, so no figure can be computed."))
        )
    blocks.append(_left_out(fates))
    if any(votes.units.corrected.any() for votes in material.votes):
        blocks.append(_corrected(material))
    blocks += _adaptive(material)
    return Section("data", _("Data"), blocks)


def _collected(material: Material, fates: list[Fate]) -> Table:
    found = judgment_counts.material_counts(material.study)
    unnamed = any((votes.rater == NOBODY).any() for votes in material.votes)
    rows = [
        (_("Items"), found.items),
        (_("Tasks"), found.tasks),
        (_("Tasks with a judgment that counts"), found.judged),
        (_("Systems"), found.systems),
        (_("Judgments"), sum(one.n for one in fates)),
        (_("Judgments that count"), sum(one.n for one in fates if one.fate == COUNTED)),
        (_("Raters of judgments that count"), found.raters or None if unnamed else found.raters),
    ]
    return Table(
        "collected",
        _("What was collected"),
        (Column("what", ""), Column("n", _("Number"), "count")),
        rows,
        [_("Some judgments name no rater, because their source did not; raters are those with a name.")]
        if unnamed
        else [],
    )


def _questions(material: Material) -> Table:
    others = any(votes.question.other_versions for votes in material.votes)
    columns = (
        Column("question", _("Question")),
        Column("level", _("Level")),
        Column("units", _("Units"), "count"),
        Column("shared_units", _("With 2 votes or more"), "count"),
        Column("votes", _("Votes"), "count"),
        Column("raters", _("Raters"), "count"),
        Column("excluded", _("Excluded votes"), "count"),
        Column("versions", _("Protocol versions")),
        *([Column("versions_left_out", _("Versions left out"))] if others else []),
    )
    notes = [
        _("A unit is a task, or one candidate of a task where the question is asked of each."),
        _("A vote is one answer; a judgment can leave a question open."),
    ]
    rows = [_row(votes)[: len(columns)] for votes in material.votes]
    if others:
        notes.append(
            _("Versions left out ask the question on another scale; their answers are in no figure.")
        )
    return Table("questions", _("Questions and the votes on them"), columns, rows, notes)


def _row(votes: Votes) -> tuple[str | int | None, ...]:
    counted, question = votes.counted(), votes.question
    sizes = np.bincount(counted.unit, minlength=len(votes.units))
    named = np.unique(counted.rater[counted.rater != NOBODY])
    return (
        question.title,
        level_word(question.level),
        int((sizes > 0).sum()),
        int((sizes > 1).sum()),
        len(counted),
        None if not len(named) and len(counted) else len(named),
        int((votes.status != vote_frames.COUNTED).sum()),
        numbers(question.versions),
        numbers(question.other_versions),
    )


def _left_out(fates: list[Fate]) -> Block:
    rows = [(_why(one), one.n) for one in fates if one.fate != COUNTED]
    if not rows:
        return Paragraph(_("No judgment was left out."))
    columns = (Column("reason", _("Reason")), Column("judgments", _("Judgments"), "count"))
    return Table("left_out", _("Judgments that are in no figure unless it says so, by reason"), columns, rows)


def _why(one: Fate) -> str:
    reasons = {
        EXPERT: _("An expert’s own judgment in the review"),
        SUPERSEDED: _("The rater changed the judgment later"),
        SURPLUS: _("Surplus: the task had all its judgments"),
        "training": _("Training task"),
        "gold": _("Task with a known answer"),
        "trap": _("Attention check"),
        "repeat": _("A repeated task, for self-consistency only"),
    }
    if one.fate == EXCLUDED:
        return _("Excluded: %(reason)s") % {"reason": excluded_because(one)}
    return reasons[one.fate]


def excluded_because(one: Fate) -> str:
    """The review's reasons in words; a person's as they wrote it."""
    by_review = {
        "item_corrected": _("the text was corrected"),
        "item_withdrawn": _("the item was withdrawn"),
        "correction_undone": _("the correction was undone"),
    }
    return by_review.get(one.reason, one.reason) or _("no reason given")


def _corrected(material: Material) -> Table:
    columns = (
        Column("question", _("Question")),
        Column("units", _("Units of corrected texts"), "count"),
        Column("votes", _("Votes on corrected texts"), "count"),
        Column("before", _("Votes on other texts"), "count"),
        Column("set_aside", _("Votes excluded by the review"), "count"),
    )
    rows = []
    for votes in material.votes:
        counted = votes.counted()
        corrected = counted.units.corrected[counted.unit]
        set_aside = int((votes.status == EXCLUDED_BY_REVIEW).sum())
        rows.append(
            (
                votes.question.title,
                int(votes.units.corrected.sum()),
                int(corrected.sum()),
                int((~corrected).sum()),
                set_aside,
            )
        )
    return Table("corrected", _("Votes on texts before and after corrections"), columns, rows)


def _adaptive(material: Material) -> Iterator[Block]:
    rule = stopping.adaptive(material.study.rules)
    if rule is None:
        return
    said = _(
        "The overlap was adaptive: each task got %(first)d judgments, then one more at a time, up to %(most)d, while "
        "the majority on “%(question)s” was right with a posterior chance below %(threshold)s. So later votes came "
        "where the first ones differed. Only the first votes are in agreement; in win rates, strengths and "
        "comparisons of systems by preference; in what one person achieves beside scorers; and in how scores and the "
        "length of answers go with shares of votes and the variance of ratings. Everything else, mean ratings and "
        "scorers’ accuracy among it, rests on all votes."
    )
    titles = {votes.question.key: votes.question.title for votes in material.votes}
    yield Paragraph(
        said
        % {
            "first": material.study.overlap,
            "most": rule.most,
            "question": titles.get(rule.question, rule.question),
            "threshold": f"{rule.threshold:g}",
        }
    )
    if stopping.settings(material.study.rules) is None:
        yield Paragraph(
            _(
                "The rule was switched off later. Votes that it had asked for remain, so these figures still rest on "
                "the first ones."
            )
        )
