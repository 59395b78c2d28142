"""Models of raters: how reliable each one is, and what the votes say once that is taken into account. Every weighted
figure stands beside the unweighted one, and no figure elsewhere in the report rests on a model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _

from analytics.data.votes import NOBODY, Votes
from analytics.reports.document import Block, Cell, Column, Measured, Paragraph, Section, Table
from analytics.reports.rater_models import QuestionModel, fit_question
from analytics.reports.sections.material import ReportData
from analytics.statistics.bootstrap import Interval
from analytics.statistics.intervals import t_quantile

_NORMAL_DF = 10_000


def rater_models_section(material: ReportData) -> Section | None:
    blocks: list[Block] = []
    for votes in material.votes:
        model = fit_question(votes, resampling=material.settings.resampling)
        if model is not None:
            blocks += _blocks(model, level=material.settings.resampling.level)
    if not blocks:
        return None
    text = _(
        "These models estimate how reliable each rater is from the votes alone, and weigh the votes by it. They assume "
        "that raters err independently of each other: raters who share a mistake pass for reliable. All other figures "
        "of this report count every vote alike."
    )
    return Section("rater-models", _("Models of raters"), [Paragraph(text), *blocks])


def _blocks(model: QuestionModel, *, level: float) -> Iterator[Block]:
    title = model.votes.question.title
    if model.categories is not None:
        yield _reliabilities(model, title)
        yield Paragraph(_labels_sentence(model, title))
    if model.pairs is not None:
        yield _eta(model, title)
        yield _strengths(model, title)
    if model.ordinal is not None:
        yield _severities(model, title, level=level)
        yield _means(model, title)
    if not model.converged:
        text = _("%(question)s: the estimates did not settle. Do not rely on them.") % {"question": title}
        yield Paragraph(text, warning=True)


def _reliabilities(model: QuestionModel, title: str) -> Table:
    skene, mace = model.categories, model.mace
    assert skene is not None
    assert mace is not None
    columns = [
        Column("rater", _("Rater")),
        Column("votes", _("Votes"), "count"),
        Column("accuracy", _("Gives the true category"), "percent", 1),
        Column("competence", _("Competence"), "percent", 1),
    ]
    rows = [
        (name, int(skene.n[r]), _measured(skene.reliability[r], skene.intervals[r]),
         _measured(mace.reliability[r], mace.intervals[r]))
        for r, name in enumerate(model.raters)
        if skene.n[r]
    ]  # fmt: skip
    notes = [
        _(
            "Gives the true category: by the confusion matrices of Dawid and Skene, of a task drawn from the study."
        ),
        _("Competence: the share of votes that are no guess, by MACE."),
        _("Intervals: bootstrap of tasks."),
    ]
    return Table(
        f"models-categories-{_key(model)}",
        _("Reliability: %(question)s") % {"question": title},
        columns,
        rows,
        notes,
    )


def _labels_sentence(model: QuestionModel, title: str) -> str:
    assert model.categories is not None
    changed, n = int((model.categories.label != model.majority).sum()), len(model.units)
    text = _(
        "%(question)s: of %(n)s tasks the model's most probable category differs from the majority of votes on "
        "%(changed)s. Its categories have a mean probability of %(certainty)s %%. The file of labels has them all."
    )
    certainty = f"{100 * float(model.categories.certainty.mean()):.1f}"
    return text % {"question": title, "n": f"{n:,}", "changed": f"{changed:,}", "certainty": certainty}


def _eta(model: QuestionModel, title: str) -> Table:
    pairs = model.pairs
    assert pairs is not None
    columns = [
        Column("rater", _("Rater")), Column("votes", _("Votes"), "count"),
        Column("reliability", _("Reliability"), "number", 2),
    ]  # fmt: skip
    rows = [
        (name, int(pairs.n[r]), _measured(pairs.reliability[r], _at(pairs.intervals, r)))
        for r, name in enumerate(model.raters)
        if pairs.n[r]
    ]
    notes = [_("1: votes as strengths say. 0.5: at random. 0: the other way round (noisy Bradley-Terry).")]
    return Table(
        f"models-pairs-{_key(model)}",
        _("Reliability in comparing systems: %(question)s") % {"question": title},
        columns,
        rows,
        notes,
    )


def _strengths(model: QuestionModel, title: str) -> Table:
    pairs = model.pairs
    assert pairs is not None
    columns = [
        Column("system", _("System")),
        Column("unweighted", _("Every rater alike"), "number", 2),
        Column("weighted", _("By reliability"), "number", 2),
    ]
    order = np.argsort(-pairs.unweighted, kind="stable").tolist()
    rows: list[tuple[Cell, ...]] = [
        (model.votes.systems[model.systems[s]], _measured(pairs.unweighted[s], _at(pairs.unweighted_intervals, s)),
         _measured(pairs.strength[s], _at(pairs.strength_intervals, s)))
        for s in order
    ]  # fmt: skip
    notes = [
        _("Strengths in log-odds, adding up to 0, shrunk towards 0. Compare their order rather than their size: "
          "weighing by reliability stretches them."),
        _("Intervals: bootstrap of prompts."),
    ]  # fmt: skip
    return Table(
        f"models-strengths-{_key(model)}",
        _("Systems by both counts: %(question)s") % {"question": title},
        columns,
        rows,
        notes,
    )


def _severities(model: QuestionModel, title: str, *, level: float) -> Table:
    ordinal = model.ordinal
    assert ordinal is not None
    z = t_quantile((1 + level) / 2, df=_NORMAL_DF)
    columns = [
        Column("rater", _("Rater")),
        Column("ratings", _("Ratings"), "count"),
        Column("severity", _("Severity (logits)"), "number", 2),
        Column("points", _("Below an average rater, in points"), "number", 2),
        Column("discrimination", _("Discrimination"), "number", 2),
    ]
    rows = []
    for r, name in enumerate(model.raters):
        if not ordinal.n[r]:
            continue
        severity, half = float(ordinal.severity[r]), z * float(ordinal.severity_se[r])
        rows.append((
            name, int(ordinal.n[r]), Measured(severity, severity - half, severity + half),
            float(ordinal.severity_points[r]),
            _measured(ordinal.discrimination[r], ordinal.discrimination_interval(r, level=level)),
        ))  # fmt: skip
    notes = [
        _("Cumulative logit model. Discrimination: how closely the ratings follow what the rated is worth; near 0, "
          "they do not."),
        _("Intervals: from the curvature at the estimate, as if the rated's values were known."),
    ]  # fmt: skip
    return Table(
        f"models-severity-{_key(model)}",
        _("Severity and discrimination: %(question)s") % {"question": title},
        columns,
        rows,
        notes,
    )


def _means(model: QuestionModel, title: str) -> Table:
    ordinal, units = model.ordinal, model.votes.units
    assert ordinal is not None
    system = units.first[model.units]
    columns = [
        Column("system", _("System")), Column("units", _("Units"), "count"),
        Column("unweighted", _("Mean of the ratings"), "number", 2),
        Column("weighted", _("Expected of an average rater"), "number", 2),
    ]  # fmt: skip
    rows = [
        (model.votes.systems[s], int((system == s).sum()), float(ordinal.unweighted[system == s].mean()),
         float(ordinal.adjusted[system == s].mean()))
        for s in np.unique(system[system != NOBODY]).tolist()
    ]  # fmt: skip
    notes = [
        _("Means over units, each counted once; the model's are shrunk towards the middle where few rated.")
    ]
    return Table(
        f"models-means-{_key(model)}",
        _("Systems by both means: %(question)s") % {"question": title},
        columns,
        rows,
        notes,
    )


def _measured(value: float, interval: Interval | None) -> Measured:
    if np.isnan(value):
        return Measured(None, reason=_("No votes."))
    low, high = interval or (None, None)
    reason = None if interval else _("Too few tasks to say how uncertain this is.")
    return Measured(float(value), low, high, reason)


def _at(intervals: tuple[Interval | None, ...], place: int) -> Interval | None:
    return intervals[place] if intervals else None


def _key(model: QuestionModel) -> str:
    votes: Votes = model.votes
    return votes.question.key
