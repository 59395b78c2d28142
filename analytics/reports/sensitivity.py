"""How far a scorer's word depends on how it is asked: AQAScore's section 5.4, for a study of one's own.

Every output of a scorer is a question template, but for the mean and the spread that it may give beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, groupby
from typing import Any

import numpy as np
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

from analytics.data import scores
from analytics.data.questions import MeasuredQuestion, scaled_questions
from analytics.data.scores import Scores
from analytics.evaluation.results import ENSEMBLE_MEAN, ENSEMBLE_SPREAD
from analytics.reports.document import (
    Block,
    Cell,
    Column,
    Document,
    Figure,
    Measured,
    Paragraph,
    Section,
    Table,
)
from analytics.reports.reasons import SCORES, measured
from analytics.reports.render.interval_plot import Block as PlotBlock
from analytics.reports.render.interval_plot import Point, interval_plot
from analytics.reports.render.layout import format_value
from analytics.reports.sections.model_data import count_column, number_column
from analytics.statistics.arrays import FloatArray
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.correlation import correlations, spearman
from analytics.statistics.judges.accuracy import pairwise_accuracy
from annotation.jobs import jobs
from annotation.jobs.jobs import JobFailed, RunningJob
from annotation.models import Job, Study, User
from annotation.protocols import Protocol, QuestionSpec
from scoring.metrics import registry
from scoring.metrics.registry import Reads
from scoring.models import Scorer

# A page waits for it; the intervals are as wide as they are to within a few per cent.
RESAMPLING = Resampling(replicates=400)
WIDEST = 10
# Where a scorer of pairs prefers neither, unless its identity says otherwise.
_EVEN = 0.5


def sensitivity(study: Study, scorer: Scorer, *, resampling: Resampling = RESAMPLING) -> dict[str, Any]:
    """By one query for the scores, one for each question with answers to compare, one for names and those that tell
    which questions there are.

    templates: each with `sd`, the sample standard deviation over what was scored, None below two. agreement: the mean
    of Spearman's rho over all pairs of templates; None where no pair has one. mean_spread: of the standard deviations
    over templates, one per candidate or pair with two or more of them. widest: the candidates (or pairs) on which
    templates are furthest apart, and which says least and most. humans: one statistic of one question by template
    (lcc, srcc, ktau against the mean rating; accuracy against the majority's preference), and its spread over them.
    """
    loaded = _templates_only(scores.load_scores(study, scorer), scorer.config.get("templates") or {})
    spreads = _spreads(loaded.values)
    return {
        "scorer": scorer.key,
        "digest": scorer.digest,
        "n": len(loaded.values),
        "templates": tuple(map(_template, loaded.outputs, loaded.values.T)),
        "agreement": _agreement(loaded.values),
        "mean_spread": float(np.nanmean(spreads)) if np.isfinite(spreads).any() else None,
        "widest": _widest(loaded, spreads),
        "humans": tuple(_humans(study, scorer, loaded, resampling)),
    }


def _templates_only(loaded: Scores, templates: Mapping[str, str]) -> Scores:
    """The outputs of single templates, without what a scorer makes of several."""
    of_several = (ENSEMBLE_MEAN, ENSEMBLE_SPREAD)
    counted = [
        n
        for n, name in enumerate(loaded.outputs)
        if (name in templates if templates else name not in of_several)
    ]
    outputs = tuple(loaded.outputs[n] for n in counted)
    return Scores(loaded.candidates, loaded.others, loaded.items, outputs, loaded.values[:, counted])


def _template(name: str, values: FloatArray) -> dict[str, Any]:
    known = values[np.isfinite(values)]
    return {
        "template": name,
        "n": len(known),
        "mean": float(known.mean()) if len(known) else None,
        "sd": float(known.std(ddof=1)) if len(known) > 1 else None,
    }


def _agreement(values: FloatArray) -> float | None:
    """Each pair of templates over what both have scored."""
    rhos = []
    for first, second in combinations(values.T, 2):
        both = np.isfinite(first) & np.isfinite(second)
        if both.sum() > 2:
            rhos.append(float(spearman(first[both], second[both])(np.ones((1, int(both.sum()))))[0]))
    defined = [rho for rho in rhos if math.isfinite(rho)]
    return sum(defined) / len(defined) if defined else None


def _spreads(values: FloatArray) -> FloatArray:
    """(rows,) sample standard deviations over templates; NaN below two."""
    known = np.isfinite(values)
    n = known.sum(axis=1)
    enough = n > 1
    mean = np.where(known, values, 0.0).sum(axis=1) / np.maximum(n, 1)
    squares = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(enough, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)


def _widest(loaded: Scores, spreads: FloatArray) -> tuple[dict[str, Any], ...]:
    order = [n for n in np.argsort(-spreads, kind="stable") if np.isfinite(spreads[n])][:WIDEST]
    if not order:
        return ()
    candidates = {int(one) for n in order for one in (loaded.candidates[n], loaded.others[n]) if one}
    names = scores.candidate_names(sorted(candidates))
    return tuple(_item(loaded, int(n), float(spreads[n]), names) for n in order)


def _item(loaded: Scores, n: int, sd: float, names: Mapping[int, tuple[str, str]]) -> dict[str, Any]:
    values = loaded.values[n]
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    item, system = names[int(loaded.candidates[n])]
    return {
        "item": item,
        "system": system,
        "other_system": names[int(loaded.others[n])][1] if loaded.others[n] else "",
        "sd": sd,
        "lowest": float(values[low]),
        "lowest_template": loaded.outputs[low],
        "highest": float(values[high]),
        "highest_template": loaded.outputs[high],
    }


def _humans(study: Study, scorer: Scorer, loaded: Scores, resampling: Resampling) -> list[dict[str, Any]]:
    if not len(loaded.values):
        return []
    entry = registry.METRICS.get(scorer.key)
    pairs = bool(loaded.others.any()) or (entry is not None and entry.reads is Reads.PAIR)
    figures: list[dict[str, Any]] = []
    for question in scaled_questions(study):
        if question.is_preference:
            figures += _against_preferences(question, scorer, loaded, pairs=pairs, resampling=resampling)
        elif not pairs:
            figures += _against_ratings(question, loaded, resampling)
    return figures


def _against_ratings(
    question: MeasuredQuestion, loaded: Scores, resampling: Resampling
) -> list[dict[str, Any]]:
    """Candidates of one item are not independent of each other, so intervals resample items."""
    means = scores.mean_ratings(question)
    if not means:
        return []
    humans = np.array([means.get(int(candidate), np.nan) for candidate in loaded.candidates])
    each = [
        correlations(values, humans, clusters=loaded.items.tolist(), resampling=resampling)
        for values in loaded.values.T
    ]
    return [_figure(question, name, [getattr(one, name) for one in each]) for name in ("lcc", "srcc", "ktau")]


def _against_preferences(
    question: MeasuredQuestion, scorer: Scorer, loaded: Scores, *, pairs: bool, resampling: Resampling
) -> list[dict[str, Any]]:
    leads = scores.preference_leads(question)
    if not leads:
        return []
    humans = np.array(list(leads.values()), dtype=np.float64)
    even = float(scorer.config.get("prefers_first_above", _EVEN)) if pairs else None
    scored, items = _pair_scores(loaded, list(leads), even=even)
    each = [
        pairwise_accuracy(values, humans, clusters=items, resampling=resampling).accuracy
        for values in scored.T
    ]
    return [_figure(question, "accuracy", each)]


def _pair_scores(
    loaded: Scores, pairs: Sequence[tuple[int, int]], *, even: float | None
) -> tuple[FloatArray, list[int]]:
    """(pairs, templates) by how much the first leads, NaN where it is not known; and the item of each pair."""
    rows = {
        (int(c), int(o)): n for n, (c, o) in enumerate(zip(loaded.candidates, loaded.others, strict=True))
    }
    nothing = np.full(len(loaded.outputs), np.nan)

    def values(candidate: int, other: int = 0) -> FloatArray:
        n = rows.get((candidate, other))
        return nothing if n is None else loaded.values[n]

    def item(first: int, second: int) -> int:
        n = rows.get((first, second), rows.get((first, 0), rows.get((second, 0))))
        return -1 if n is None else int(loaded.items[n])

    leads = [
        values(first) - values(second) if even is None else values(first, second) - even
        for first, second in pairs
    ]
    return np.array(leads), [item(first, second) for first, second in pairs]


def _figure(question: MeasuredQuestion, statistic: str, estimates: Sequence[Estimate]) -> dict[str, Any]:
    values = [one.value for one in estimates if one.value is not None]
    spread = None
    if len(values) > 1:
        spread = {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1)), "n": len(values)}
    return {
        "question": question.key,
        "title": question.title,
        "statistic": statistic,
        "by_template": tuple(map(asdict, estimates)),
        "spread": spread,
    }


_STATISTICS: dict[str, Promise] = {
    "lcc": gettext_lazy("Linear correlation (LCC)"),
    "srcc": gettext_lazy("Rank correlation (SRCC)"),
    "ktau": gettext_lazy("Kendall’s tau (KTAU)"),
    "accuracy": gettext_lazy("Pairwise accuracy"),
}
StoredReport = Mapping[str, Any]


def sensitivity_document(
    report: StoredReport, protocol: Protocol, *, templates: Mapping[str, Any], title: str, language: str
) -> Document:
    """`report`: what `sensitivity` gives, as stored with its job. templates: what each asks, by name."""
    with translation.override(language):
        names = [row["template"] for row in report["templates"]]
        grouped = groupby(report["humans"], key=lambda figure: str(figure["question"]))
        blocks = [
            block
            for question, figures in grouped
            for block in _question_blocks(list(figures), names, protocol.question(question))
        ]
        no_votes = _(
            "There are no votes that these scores can be compared with yet. Once raters have answered, this shows "
            "whether one wording agrees with them more than another."
        )
        sections = [
            Section("with-raters", _("Compared with the raters"), blocks or [Paragraph(no_votes)]),
            Section("templates", _("Compared with each other"), list(_template_blocks(report, templates))),
        ]
        if report["widest"]:
            table = _widest_table(report["widest"])
            sections.append(Section("widest", table.caption, [table]))
        return Document(title, language, _facts(report), sections)


def _facts(report: StoredReport) -> list[tuple[str, str]]:
    number = number_column("", "")
    agreement, spread = (format_value(report[name], number) for name in ("agreement", "mean_spread"))
    return [
        (_("Scored"), f"{report['n']:,}"),
        (_("Rank correlation between templates, mean of all pairs"), agreement),
        (_("Spread of one candidate’s scores, mean"), spread),
    ]


def _question_blocks(
    figures: Sequence[StoredReport], names: Sequence[str], spec: QuestionSpec | None
) -> list[Block]:
    """A plot with a line per template, and the same as a table, with the templates' mean and spread below."""
    key = figures[0]["question"]
    title = str(figures[0]["title"]) if spec is None else spec.title.in_language(get_language() or "en")
    labels = [str(_STATISTICS.get(figure["statistic"], figure["statistic"])) for figure in figures]
    columns = [
        Column("template", _("Template")),
        count_column("n", _("Scored")),
        *(number_column(figure["statistic"], label) for figure, label in zip(figures, labels, strict=True)),
    ]
    rows: list[list[Cell]] = [
        [name, max(estimate["n"] for estimate in estimates), *map(_measured, estimates)]
        for name, *estimates in zip(names, *(figure["by_template"] for figure in figures), strict=True)
    ]
    if any(figure["spread"] for figure in figures):
        for part, label in (("mean", _("Mean")), ("sd", _("standard deviation"))):
            rows.append([label, None, *((figure["spread"] or {}).get(part) for figure in figures)])
    plot = [
        PlotBlock(label, [_point(name, one) for name, one in zip(names, figure["by_template"], strict=True)])
        for figure, label in zip(figures, labels, strict=True)
    ]
    caption = _("Each template compared with the raters, with 95 % intervals")
    return [
        Figure(f"plot-{key}", title, interval_plot(title, plot)),
        Table(f"question-{key}", f"{title} · {caption}", columns, rows),
    ]


def _measured(estimate: StoredReport) -> Measured:
    return measured(estimate["value"], estimate["interval"], estimate["reason"], SCORES)


def _point(name: str, estimate: StoredReport) -> Point:
    low, high = estimate["interval"] or (None, None)
    return Point(name, estimate["value"], low, high, format_value(estimate["value"], number_column("", "")))


def _template_blocks(report: StoredReport, templates: Mapping[str, Any]) -> Iterator[Block]:
    """What each template asks and how its scores lie."""
    if report["agreement"] is None:
        text = _(
            "No two templates have both scored three things or more with differing values, so there is no rank "
            "correlation between them."
        )
        yield Paragraph(text)
    columns = [
        Column("template", _("Template")),
        Column("question", _("Question")),
        count_column("n", _("Scored")),
        number_column("mean", _("Mean")),
        number_column("sd", _("standard deviation")),
    ]
    rows = [
        (row["template"], str(templates.get(row["template"], "")), row["n"], row["mean"], row["sd"])
        for row in report["templates"]
    ]
    yield Table("scores", _("Compared with each other"), columns, rows)


def _widest_table(widest: Sequence[StoredReport]) -> Table:
    columns = [
        Column("item", _("Item")),
        Column("system", _("System")),
        number_column("sd", _("Spread")),
        number_column("lowest", _("Lowest")),
        Column("lowest_template", _("Template")),
        number_column("highest", _("Highest")),
        Column("highest_template", _("Template")),
    ]
    rows = [
        (
            row["item"],
            " / ".join(name for name in (row["system"], row["other_system"]) if name),
            *(row[column.key] for column in columns[2:]),
        )
        for row in widest
    ]
    return Table("items", _("Items with the largest spread between templates"), columns, rows)


SENSITIVITY_JOB = "sensitivity"


def start_sensitivity(study: Study, scorer: Scorer, *, actor: User) -> Job:
    """The comparison that is under way, or a new one, made in the background: many items take minutes."""
    return jobs.enqueue_once(SENSITIVITY_JOB, study=study, params={"scorer": scorer.pk}, actor=actor)


def run_sensitivity(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    scorer = Scorer.objects.filter(pk=running.job.params["scorer"]).first()
    if scorer is None or running.job.study is None:
        raise JobFailed("This scorer is not here any more.")
    return sensitivity(running.job.study, scorer)


def latest_sensitivity(study: Study, scorer: Scorer) -> tuple[Job | None, Job | None]:
    """The last comparison that was finished, and the newest job of all, which may be under way or have failed."""
    newest = jobs.newest_jobs(study, SENSITIVITY_JOB).filter(params={"scorer": scorer.pk})
    return jobs.last_done_and_newest(newest)
