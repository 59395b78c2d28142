"""Length bias: how ratings, votes and scorers' errors go with the length of an answer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.data import items
from analytics.reports.document import Block, Cell, Column, Figure, Paragraph, Section, Table
from analytics.reports.render.line_plot import line_plot
from analytics.reports.sections.material import ReportData
from analytics.reports.sections.model_calibration import line_of_means
from analytics.reports.sections.model_data import (
    ComparedPairs,
    RatedCandidates,
    ScoredQuestion,
    compared_pairs,
    count_column,
    drawn_by_prompt,
    measured_score,
    number_column,
    present_systems,
    rated_candidates,
    scored_by,
    scored_question,
)
from analytics.reports.sections.models import places_apart
from analytics.statistics.arrays import FloatArray, IntArray
from analytics.statistics.judges.answer_length import LengthDecay, count_words, length_decay

# As many systems as a table on a page can hold.
_MOST_SYSTEMS = 60


# What is held against length, and how it goes with it.
_Curve = tuple[str, LengthDecay]


def length_section(material: ReportData) -> Section | None:
    """None where no candidate is a text."""
    texts = items.candidate_texts(material.study)
    if not texts:
        return None
    lengths = {candidate: count_words(answer.text) for candidate, answer in texts.items()}
    scored = scored_by(material.study)
    blocks: list[Block] = []
    for votes in material.votes:
        question = scored_question(votes.counted(), scored, material.settings.resampling)
        blocks += _blocks(question, lengths)
    text = _(
        "Length is that of a candidate’s text in words; each Chinese or Japanese character counts as one. What a "
        "system wrote before its answer is not kept apart, so this is decay with the length of the answer; where "
        "the answer holds the reasoning, with the length of both."
    )
    return Section("length", _("Length of answers"), [Paragraph(text), *blocks]) if blocks else None


def _blocks(question: ScoredQuestion, lengths: dict[int, int]) -> Iterator[Block]:
    if question.question.is_preference:
        pairs = compared_pairs(question.votes)
        if len(pairs):
            yield from _of_preferences(question, pairs, lengths)
        return
    if not question.question.is_rating:
        return
    rated = rated_candidates(question.votes)
    if len(rated):
        yield from _of_ratings(question, rated, lengths)


def _of_ratings(question: ScoredQuestion, rated: RatedCandidates, lengths: dict[int, int]) -> Iterator[Block]:
    long = _lengths(rated.candidate, lengths)
    if not np.isfinite(long).any():
        return

    def decay(values: FloatArray) -> LengthDecay:
        return length_decay(long, values, **question.by_prompt(rated))

    yield from _table_and_figure(
        question, [(_("mean rating"), decay(rated.mean))], key="rating",
        caption=_("Mean rating by length: %(question)s"), y_label=_("Mean rating"),
    )  # fmt: skip
    errors = [
        (one.name, decay(places_apart(one.of(rated.candidate), rated.mean)))
        for one in question.varying(lambda one: one.of(rated.candidate))
    ]
    if errors:
        yield from _table_and_figure(
            question, errors, key="error", caption=_("Scorers’ errors by length: %(question)s"),
            y_label=_("Places apart"),
            note=_(
                "Error: how far an item’s place by score is from its place by mean rating, of all items with both, "
                "from 0 to 1."
            ),
        )  # fmt: skip
    yield from _by_system(question, rated, long)


def _of_preferences(
    question: ScoredQuestion, pairs: ComparedPairs, lengths: dict[int, int]
) -> Iterator[Block]:
    """The share of votes for the longer of two, by how much longer it is; and how often a scorer is right."""
    first, second = _lengths(pairs.first, lengths), _lengths(pairs.second, lengths)
    votes = compared_pairs(question.first_votes).votes
    gap, voted = first - second, votes[:, 0] + votes[:, 1]
    if not np.isfinite(gap).any():
        return
    share = np.divide(votes[:, 0], voted, out=np.full(len(pairs), np.nan), where=voted > 0)
    longer = np.where(gap > 0, share, np.where(gap < 0, 1 - share, np.nan))
    people = length_decay(np.abs(gap), longer, **question.by_prompt(pairs))
    if people.bins:
        yield from _table_and_figure(
            question, [(_("votes for the longer"), people)], key="longer",
            caption=_("Votes for the longer of two, by how many words longer: %(question)s"),
            y_label=_("Share of votes"),
            note=" ".join(
                [_("Pairs of equal length do not count, nor do votes for neither."), *question.first_votes_note()]
            ),
        )  # fmt: skip
    right = []
    for one in question.varying(lambda one: one.leads(pairs.first, pairs.second)):
        leads = one.leads(pairs.first, pairs.second)
        agree = (1 + np.sign(leads) * np.sign(pairs.lead)) / 2
        agree[~pairs.decided] = np.nan
        decay = length_decay((first + second) / 2, agree, **question.by_prompt(pairs))
        if decay.bins:
            right.append((one.name, decay))
    if right:
        yield from _table_and_figure(
            question, right, key="accuracy",
            caption=_("Scorers’ accuracy by mean length of the two: %(question)s"), y_label=_("Accuracy"),
        )  # fmt: skip


def _table_and_figure(
    question: ScoredQuestion, curves: list[_Curve], *, key: str, caption: str, y_label: str, note: str = ""
) -> Iterator[Block]:
    caption %= question.title_params
    notes = [note, drawn_by_prompt(question.resampling)]
    yield Table(
        key=f"length_{question.question.key}_{key}",
        caption=caption,
        columns=[
            Column("curve", _("What")), count_column("n", _("Answers or pairs")),
            number_column("shortest", _("Words from"), digits=0), number_column("longest", _("Words to"), digits=0),
            number_column("words", _("Mean words"), digits=1), number_column("value", y_label),
        ],
        rows=[
            [name, bin_.n, bin_.lowest, bin_.highest, bin_.x, measured_score(bin_.mean)]
            for name, decay in curves
            for bin_ in decay.bins
        ],
        notes=[one for one in notes if one],
    )  # fmt: skip
    yield Table(
        key=f"length_{question.question.key}_{key}_rank",
        caption=_("%(caption)s (rank correlation)") % {"caption": caption},
        columns=[
            Column("curve", _("What")), count_column("n", _("Answers or pairs")),
            number_column("spearman", _("Spearman (SRCC)")),
        ],
        rows=[[name, decay.srcc.n, measured_score(decay.srcc)] for name, decay in curves],
    )  # fmt: skip
    lines = [line_of_means(name, decay.bins) for name, decay in curves if len(decay.bins) > 1]
    if lines:
        svg = line_plot(caption, lines, x_label=_("Words"), y_label=y_label)
        yield Figure(f"length_{question.question.key}_{key}", caption, svg)


def _by_system(question: ScoredQuestion, rated: RatedCandidates, long: FloatArray) -> Iterator[Table]:
    systems = present_systems(rated, question.votes)
    if not 1 < len(systems) <= _MOST_SYSTEMS:
        return
    rows: list[list[Cell]] = []
    for name, own in systems:
        decay = length_decay(
            long[own], rated.mean[own], clusters=rated.prompt[own].tolist(), resampling=question.resampling
        )
        known = long[own][np.isfinite(long[own])]
        mean = float(known.mean()) if len(known) else None
        rows.append([name, decay.srcc.n, mean, measured_score(decay.srcc)])
    yield Table(
        key=f"length_{question.question.key}_systems",
        caption=_("Length and rating, system by system: %(question)s") % question.title_params,
        columns=[
            Column("system", _("System")), count_column("n", _("Answers or pairs")),
            number_column("words", _("Mean words"), digits=1), number_column("spearman", _("Spearman (SRCC)")),
        ],
        rows=rows,
        notes=[
            _("Below 0, a system’s longer answers are rated lower. Over all systems, those that write much count too."),
            drawn_by_prompt(question.resampling),
        ],
    )  # fmt: skip


def _lengths(candidates: IntArray, lengths: dict[int, int]) -> FloatArray:
    return np.array([lengths.get(one, np.nan) for one in candidates.tolist()], dtype=np.float64)
