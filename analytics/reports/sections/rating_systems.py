"""Mean opinion scores by system, and paired tests between systems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Block, Cell, Column, Figure, Measured, Paragraph, Table
from analytics.reports.reasons import MEANS, measured
from analytics.reports.render.interval_plot import Block as PlotBlock
from analytics.reports.render.interval_plot import Point, interval_plot
from analytics.reports.sections.material import put_back
from analytics.reports.sections.rating_data import QuestionRatings, ratings_of
from analytics.statistics.ratings.mean_opinion import (
    MeanOpinionScore,
    SystemPair,
    compact_letters,
    mean_opinion_score,
    mean_opinion_scores,
    mostly_shared,
    system_pairs,
)


def system_blocks(rated: QuestionRatings, means: list[MeanOpinionScore]) -> Iterator[Block]:
    """`means`: the systems, the best first."""
    order = [one.system for one in means]
    pairs, paired = _pairs(rated, order)
    yield _means_table(rated, means, compact_letters(order, pairs, level=rated.level))
    if len(means) > 1:
        yield _figure(rated, means)
        yield _pair_table(rated, pairs, paired=paired)
    elif means:
        yield Paragraph(_("Only one system was rated, so there is nothing to compare it with."))


def by_mean(rated: QuestionRatings) -> list[MeanOpinionScore]:
    return mean_opinion_scores(rated.ratings, level=rated.level)


def measured_mean(rated: QuestionRatings, one: MeanOpinionScore) -> Measured:
    return measured(one.mean, _on_scale(rated, one), one.uncertainty.reason, MEANS)


def _on_scale(rated: QuestionRatings, one: MeanOpinionScore) -> tuple[float, float] | None:
    """An interval that reaches beyond the scale ends with it: no mean lies there."""
    if one.interval is None or rated.ends is None:
        return one.interval
    (low, high), (least, most) = one.interval, rated.ends
    return max(low, least), min(high, most)


def _pairs(rated: QuestionRatings, order: list[int]) -> tuple[list[SystemPair], bool]:
    counted = rated.ratings.of(rated.ratings.system >= 0)
    items = rated.counted.units.item[counted.unit]
    paired = mostly_shared(counted, items)
    pairs = system_pairs(counted, order, shared=items, paired=paired, resampling=rated.settings.resampling)
    return pairs, paired


def _means_table(rated: QuestionRatings, means: list[MeanOpinionScore], marks: dict[int, str]) -> Table:
    names = rated.votes.systems
    # Outputs of which the import brought neither a text nor a clip count as having no words.
    with_words = any(row.words for row in rated.answers.values())
    with_seconds = any(row.seconds is not None for row in rated.answers.values())
    columns = [
        Column("system", _("System")),
        *([Column("role", _("Role"))] if rated.roles else []),
        Column("ratings", _("Ratings"), "count"),
        Column("answers", _("Outputs"), "count"),
        *([Column("raters", _("Raters"), "count")] if rated.all_named else []),
        Column("mean", _("Mean"), "number", 2),
        *([Column("groups", _("Groups"))] if len(means) > 1 else []),
        Column("median", _("Median"), "number", 1),
        Column("sd", _("SD"), "number", 2),
        *([Column("words", _("Words"), "number", 1)] if with_words else []),
        *([Column("seconds", _("Seconds"), "number", 1)] if with_seconds else []),
    ]

    def cells(one: MeanOpinionScore, name: str, mark: str) -> list[Cell]:
        answer = rated.answers.get(name)
        unit, system = rated.ratings.unit, rated.ratings.system
        return [
            name,
            *([rated.roles.get(name, "")] if rated.roles else []),
            one.ratings,
            _outputs(rated, unit if one.system < 0 else unit[system == one.system]),
            *([one.uncertainty.raters] if rated.all_named else []),
            measured_mean(rated, one),
            *([mark] if len(means) > 1 else []),
            one.median,
            one.sd,
            *([answer.words if answer else None] if with_words else []),
            *([answer.seconds if answer else None] if with_seconds else []),
        ]

    rows = [cells(one, names[one.system], marks[one.system]) for one in means]
    if len(means) != 1:
        rows.append(cells(mean_opinion_score(rated.ratings, level=rated.level), _("All"), ""))
    title = _("Ratings by system: %(question)s") % rated.title_params
    notes = list(_notes(rated, means, words=with_words, seconds=with_seconds))
    return Table(rated.key("systems"), title, columns, rows, notes)


def _outputs(rated: QuestionRatings, unit: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Different answers or clips; several tasks may show the same one."""
    units = np.unique(unit)
    candidates = rated.counted.units.candidate[units]
    return len(np.unique(candidates[candidates > 0])) + int((candidates == 0).sum())


def _notes(
    rated: QuestionRatings, means: Sequence[MeanOpinionScore], *, words: bool, seconds: bool
) -> Iterator[str]:
    if rated.all_named:
        text = _(
            "Means are over ratings, their intervals (%(level)s) clustered by rater and by item: variance between "
            "raters plus that between items less that where both cross (Cameron, Gelbach & Miller 2011), Student's t "
            "with one degree of freedom less than there are clusters of the rarer kind. Items with the same prompt or "
            "question are one cluster."
        )
    else:
        text = _(
            "Means are over ratings, their intervals (%(level)s) clustered by item alone, as not all raters are named: "
            "differences between raters are not in them, so they may be too narrow. Items with the same prompt or "
            "question are one cluster."
        )
    yield text % {"level": f"{100 * rated.level:g}\N{NO-BREAK SPACE}%"}
    if any(one.interval != _on_scale(rated, one) for one in means):
        yield _("Intervals that reach beyond the scale end with it.")
    if rated.all_named and rated.n_named_raters == 1:
        yield _("One rater gave all ratings: the intervals say nothing about what others would have said.")
    if len(means) > 1:
        yield _("Systems that share a letter do not differ significantly in the comparison of all pairs.")
    if words or seconds:
        yield _("Words and seconds are means over outputs; a word is what stands between blanks.")


def _figure(rated: QuestionRatings, means: Sequence[MeanOpinionScore]) -> Figure:
    title = _("Mean ratings by system: %(question)s") % rated.title_params
    svg = interval_plot(title, [PlotBlock(_("Mean"), [_point(rated, one) for one in means])])
    return Figure(rated.key("means"), title, svg)


def _point(rated: QuestionRatings, one: MeanOpinionScore) -> Point:
    low, high = _on_scale(rated, one) or (None, None)
    shown = "–" if one.mean is None else f"{one.mean:.2f}"
    return Point(rated.votes.systems[one.system], one.mean, low, high, shown)


def _pair_table(rated: QuestionRatings, pairs: Sequence[SystemPair], *, paired: bool) -> Table:
    names = rated.votes.systems
    columns = (
        Column("first", _("System")),
        Column("second", _("compared with")),
        Column("items", _("Items in common"), "count"),
        Column("difference", _("Difference"), "number", 2),
        Column("p", _("p"), "p", 4),
        Column("p_holm", _("p (Holm)"), "p", 4),
    )
    rows: list[list[Cell]] = []
    for one in pairs:
        difference = measured(one.difference, one.interval, one.reason, MEANS)
        rows.append([names[one.first], names[one.second], one.items, difference, one.p, one.adjusted])
    title = _("Differences between systems: %(question)s") % rated.title_params
    return Table(rated.key("pairs"), title, columns, rows, list(_pair_notes(rated, pairs, paired=paired)))


def _pair_notes(rated: QuestionRatings, pairs: Sequence[SystemPair], *, paired: bool) -> Iterator[str]:
    if paired:
        yield _(
            "Differences are item by item, on items that were rated with both systems, each item counting once. "
            "p: of all ways to swap the two systems prompt by prompt, the share with as large a difference."
        )
        if rated.all_named:
            yield _(
                "Where the interval clustered by rater and by item gives a larger p, that one is printed."
            )
        if n := sum(one.p is not None and not one.swapped for one in pairs):
            yield _(
                "For %(n)s pairs p is from their clustered intervals: they share so few prompts that not even the "
                "clearest way to swap the systems could be significant after the correction for all pairs."
            ) % {"n": n}
    else:
        yield _(
            "Most items were not rated with both systems, so differences are of the means of all ratings, and p is "
            "from their clustered intervals. This is fair only if items were dealt out among the systems by chance."
        )
    yield _("p (Holm): corrected for all pairs tested (Holm 1979). Intervals are for each pair alone.")
    if left_out := sum(one.p is None for one in pairs):
        text = _("%(n)s pairs could not be tested: they have too little in common, or no spread.")
        yield text % {"n": left_out}


def excluded_blocks(rated: QuestionRatings, means: list[MeanOpinionScore]) -> Iterator[Block]:
    """Means without excluded ratings, and with those of quality rules, or all, put back."""
    for back in put_back(rated.votes):
        others = {one.system: one for one in mean_opinion_scores(ratings_of(back.votes), level=rated.level)}
        before = {one.system: one for one in means}
        columns = (
            Column("system", _("System")),
            Column("ratings", _("Ratings"), "count"),
            Column("ratings_with_excluded", _("Ratings with excluded ones"), "count"),
            Column("mean", _("Mean"), "number", 2),
            Column("mean_with_excluded", _("Mean with excluded ones"), "number", 2),
            Column("change", _("Change"), "number", 2),
        )
        rows = [
            _put_back_row(rated, system, before.get(system), others.get(system))
            for system in [*before, *(one for one in others if one not in before)]
        ]
        title = _("Mean ratings %(how)s: %(question)s") % {"how": back.label, **rated.title_params}
        note = _("%(n)s excluded ratings put back; those that the review keeps out stay out.")
        notes = [note % {"n": f"{back.n:,}"}, _("Intervals of means as in the table of systems.")]
        yield Table(rated.key(back.key), title, columns, rows, notes)


def _put_back_row(
    rated: QuestionRatings, system: int, one: MeanOpinionScore | None, other: MeanOpinionScore | None
) -> list[Cell]:
    cells: list[Cell] = [None if mean is None else measured_mean(rated, mean) for mean in (one, other)]
    counts = [0 if mean is None else mean.ratings for mean in (one, other)]
    before, after = (None if mean is None else mean.mean for mean in (one, other))
    change = None if before is None or after is None else after - before
    return [rated.votes.systems[system], *counts, *cells, change]


def mushra_blocks(rated: QuestionRatings) -> Iterator[Block]:
    """Medians and interquartile ranges, as Recommendation ITU-R BS.1534 asks, with and without listeners whom
    post-screening marks."""
    if not rated.listeners:
        return
    marked = sorted(name for name, listener in rated.listeners.items() if listener.marks)
    yield _screening(rated, marked)
    left: dict[int, MeanOpinionScore] = {}
    if marked:
        numbers = [number for number, name in enumerate(rated.votes.raters) if name in marked]
        ratings = rated.ratings.of(~np.isin(rated.ratings.rater, numbers))
        left = {one.system: one for one in mean_opinion_scores(ratings, level=rated.level)}
    yield _mushra_table(rated, by_mean(rated), left)


def _screening(rated: QuestionRatings, marked: list[str]) -> Paragraph:
    words = {**rated.title_params, "n": len(rated.listeners), "marked": len(marked)}
    if not marked:
        return Paragraph(_("%(question)s: post-screening marks none of %(n)s listeners.") % words)
    return Paragraph(
        _("%(question)s: post-screening marks %(marked)s of %(n)s listeners (%(names)s): the hidden reference below "
          "90, or the 7 kHz anchor above 90, in more than 15 %% of their trials. They are left out of the columns "
          "“screened” only.")
        % {**words, "names": ", ".join(marked)}
    )  # fmt: skip


def _mushra_table(
    rated: QuestionRatings, everybody: list[MeanOpinionScore], left: dict[int, MeanOpinionScore]
) -> Table:
    columns = [
        Column("system", _("System")),
        Column("role", _("Role")),
        *_columns("", ""),
        *(_columns("screened_", _("screened")) if left else []),
    ]
    rows: list[list[Cell]] = []
    for one in sorted(everybody, key=lambda one: (-(one.median or 0.0), -(one.mean or 0.0), one.system)):
        name = rated.votes.systems[one.system]
        cells: list[Cell] = [name, rated.roles.get(name, ""), *_cells(rated, one)]
        rows.append(cells + (_cells(rated, left.get(one.system)) if left else []))
    title = _("Medians and interquartile ranges: %(question)s") % rated.title_params
    notes = [
        _("Range: from the first to the third quartile. Quartiles lie between ratings where they have to."),
        _("Intervals of means as in the table of systems."),
    ]
    return Table(rated.key("mushra"), title, columns, rows, notes)


def _columns(prefix: str, which: str) -> list[Column]:
    def titled(label: str) -> str:
        return f"{label}, {which}" if which else label

    return [
        Column(f"{prefix}n", titled(_("Ratings")), "count"),
        Column(f"{prefix}median", titled(_("Median [range]")), "number", 1),
        Column(f"{prefix}iqr", titled(_("IQR")), "number", 1),
        Column(f"{prefix}mean", titled(_("Mean")), "number", 1),
    ]


def _cells(rated: QuestionRatings, one: MeanOpinionScore | None) -> list[Cell]:
    if one is None or one.quartiles is None:
        nobody = _("Nobody is left.")
        return [0, Measured(None, reason=nobody), None, Measured(None, reason=nobody)]
    low, high = one.quartiles
    return [one.ratings, Measured(one.median, low, high), high - low, measured_mean(rated, one)]
