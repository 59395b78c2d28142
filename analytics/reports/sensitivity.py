"""How far a scorer's word depends on how it is asked: AQAScore's section 5.4, for a study of one's own.

Every output of a scorer is a question template, but for the mean and the spread that it may give beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from django.db import transaction

from analytics.data import scores
from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.data.scores import Scores
from analytics.evaluation.results import ENSEMBLE_MEAN, ENSEMBLE_SPREAD, Spread
from analytics.statistics.arrays import FloatArray
from analytics.statistics.bootstrap import Estimate, Resampling
from analytics.statistics.correlation import correlations, spearman
from analytics.statistics.judges.accuracy import pairwise_accuracy
from annotation.jobs import jobs
from annotation.jobs.jobs import JobFailed, RunningJob
from annotation.models import Job, Study, User
from scoring.metrics import registry
from scoring.metrics.registry import Reads
from scoring.models import Scorer

# A page waits for it; the intervals are as wide as they are to within a few per cent.
RESAMPLING = Resampling(replicates=400)
WIDEST = 10
# Where a scorer of pairs prefers neither, unless its identity says otherwise.
_EVEN = 0.5


@dataclass(frozen=True)
class TemplateScores:
    """`sd` is the sample standard deviation over what was scored; None below two."""

    template: str
    n: int
    mean: float | None
    sd: float | None


@dataclass(frozen=True)
class ItemSpread:
    """What the templates say of one candidate (or pair): how far apart, and which says least and most."""

    item: str
    system: str
    other_system: str
    sd: float
    lowest: float
    lowest_template: str
    highest: float
    highest_template: str


@dataclass(frozen=True)
class HumanFigure:
    """One statistic of one question by template, in the order of the templates, and its spread over them.

    statistic: lcc, srcc, ktau against the mean rating; accuracy against the majority's preference.
    """

    question: str
    title: str
    statistic: str
    by_template: tuple[Estimate, ...]
    spread: Spread | None


@dataclass(frozen=True)
class Sensitivity:
    """agreement: the mean of Spearman's rho over all pairs of templates; None where no pair has one. mean_spread: of
    the standard deviations over templates, one per candidate or pair with two or more of them."""

    scorer: str
    digest: str
    n: int
    templates: tuple[TemplateScores, ...]
    agreement: float | None
    mean_spread: float | None
    widest: tuple[ItemSpread, ...]
    humans: tuple[HumanFigure, ...]


def sensitivity(study: Study, scorer: Scorer, *, resampling: Resampling = RESAMPLING) -> Sensitivity:
    """By one query for the scores, one for each question with answers to compare, one for names and those that tell
    which questions there are."""
    found = _templates_only(scores.load_scores(study, scorer))
    spreads = _spreads(found.values)
    return Sensitivity(
        scorer=scorer.key,
        digest=scorer.digest,
        n=len(found.values),
        templates=tuple(map(_template, found.outputs, found.values.T)),
        agreement=_agreement(found.values),
        mean_spread=float(np.nanmean(spreads)) if np.isfinite(spreads).any() else None,
        widest=_widest(found, spreads),
        humans=tuple(_humans(study, scorer, found, resampling)),
    )


def _templates_only(found: Scores) -> Scores:
    kept = [n for n, name in enumerate(found.outputs) if name not in (ENSEMBLE_MEAN, ENSEMBLE_SPREAD)]
    outputs = tuple(found.outputs[n] for n in kept)
    return Scores(found.candidates, found.others, found.items, outputs, found.values[:, kept])


def _template(name: str, values: FloatArray) -> TemplateScores:
    there = values[np.isfinite(values)]
    mean = float(there.mean()) if len(there) else None
    return TemplateScores(name, len(there), mean, float(there.std(ddof=1)) if len(there) > 1 else None)


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
    there = np.isfinite(values)
    n = there.sum(axis=1)
    enough = n > 1
    mean = np.where(there, values, 0.0).sum(axis=1) / np.maximum(n, 1)
    squares = np.where(there, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(enough, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)


def _widest(found: Scores, spreads: FloatArray) -> tuple[ItemSpread, ...]:
    order = [n for n in np.argsort(-spreads, kind="stable") if np.isfinite(spreads[n])][:WIDEST]
    if not order:
        return ()
    wanted = {int(one) for n in order for one in (found.candidates[n], found.others[n]) if one}
    names = scores.candidate_names(sorted(wanted))
    return tuple(_item(found, int(n), float(spreads[n]), names) for n in order)


def _item(found: Scores, n: int, sd: float, names: Mapping[int, tuple[str, str]]) -> ItemSpread:
    values = found.values[n]
    low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
    item, system = names[int(found.candidates[n])]
    other = names[int(found.others[n])][1] if found.others[n] else ""
    return ItemSpread(
        item, system, other, sd,
        float(values[low]), found.outputs[low], float(values[high]), found.outputs[high],
    )  # fmt: skip


def _humans(study: Study, scorer: Scorer, found: Scores, resampling: Resampling) -> list[HumanFigure]:
    if not len(found.values):
        return []
    entry = registry.METRICS.get(scorer.key)
    pairs = bool(found.others.any()) or (entry is not None and entry.reads is Reads.PAIR)
    figures: list[HumanFigure] = []
    for question in measured_questions(study):
        if question.is_preference:
            figures += _against_preferences(question, scorer, found, pairs=pairs, resampling=resampling)
        elif not pairs:
            figures += _against_ratings(question, found, resampling)
    return figures


def _against_ratings(question: MeasuredQuestion, found: Scores, resampling: Resampling) -> list[HumanFigure]:
    """Candidates of one item are not independent of each other, so intervals resample items."""
    means = scores.mean_ratings(question)
    if not means:
        return []
    humans = np.array([means.get(int(candidate), np.nan) for candidate in found.candidates])
    each = [
        correlations(values, humans, clusters=found.items.tolist(), resampling=resampling)
        for values in found.values.T
    ]
    by_statistic = {
        "lcc": [one.lcc for one in each],
        "srcc": [one.srcc for one in each],
        "ktau": [one.ktau for one in each],
    }
    return [_figure(question, name, estimates) for name, estimates in by_statistic.items()]


def _against_preferences(
    question: MeasuredQuestion, scorer: Scorer, found: Scores, *, pairs: bool, resampling: Resampling
) -> list[HumanFigure]:
    leads = scores.preference_leads(question)
    if not leads:
        return []
    humans = np.array(list(leads.values()), dtype=np.float64)
    scored, items = _pair_scores(found, list(leads), even=_even(scorer) if pairs else None)
    each = [
        pairwise_accuracy(values, humans, clusters=items, resampling=resampling).accuracy
        for values in scored.T
    ]
    return [_figure(question, "accuracy", each)]


def _pair_scores(
    found: Scores, pairs: Sequence[tuple[int, int]], *, even: float | None
) -> tuple[FloatArray, list[int]]:
    """(pairs, templates) by how much the first leads, NaN where it is not known; and the item of each pair."""
    rows = {(int(c), int(o)): n for n, (c, o) in enumerate(zip(found.candidates, found.others, strict=True))}
    nothing = np.full(len(found.outputs), np.nan)

    def values(candidate: int, other: int = 0) -> FloatArray:
        n = rows.get((candidate, other))
        return nothing if n is None else found.values[n]

    def item(first: int, second: int) -> int:
        n = rows.get((first, second), rows.get((first, 0), rows.get((second, 0))))
        return -1 if n is None else int(found.items[n])

    leads = [
        values(first) - values(second) if even is None else values(first, second) - even
        for first, second in pairs
    ]
    return np.array(leads), [item(first, second) for first, second in pairs]


def _even(scorer: Scorer) -> float:
    return float(scorer.config.get("prefers_first_above", _EVEN))


def _figure(question: MeasuredQuestion, statistic: str, estimates: Sequence[Estimate]) -> HumanFigure:
    values = [one.value for one in estimates if one.value is not None]
    spread = None
    if len(values) > 1:
        spread = Spread(float(np.mean(values)), float(np.std(values, ddof=1)), len(values))
    return HumanFigure(question.key, question.title, statistic, tuple(estimates), spread)


# Comparisons of a scorer's templates, made in the background: with many items they take minutes, and the
# processes that answer raters have other things to do.


SENSITIVITY_JOB = "sensitivity"


@transaction.atomic
def start_sensitivity(study: Study, scorer: Scorer, *, actor: User) -> Job:
    """The comparison that is under way, or a new one."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)  # two clicks ask for one job
    begun = _sensitivity_jobs(study, scorer).filter(state__in=Job.UNFINISHED).first()
    return begun or jobs.enqueue(SENSITIVITY_JOB, study=study, params={"scorer": scorer.pk}, actor=actor)


def run_sensitivity(running: RunningJob) -> dict[str, Any]:
    """The job's work; what it returns is the job's report."""
    scorer = Scorer.objects.filter(pk=running.job.params["scorer"]).first()
    if scorer is None or running.job.study is None:
        raise JobFailed("This scorer is not here any more.")
    return asdict(sensitivity(running.job.study, scorer))


def latest_sensitivity(study: Study, scorer: Scorer) -> tuple[Job | None, Job | None]:
    """The last comparison that was finished, and the newest job of all, which may be under way or have failed."""
    newest = _sensitivity_jobs(study, scorer).exclude(state=Job.State.CANCELLED)
    return newest.filter(state=Job.State.DONE).first(), newest.first()


def sensitivity_of_job(job: Job) -> Sensitivity:
    stored = job.report
    return Sensitivity(
        **{
            **stored,
            "templates": tuple(TemplateScores(**one) for one in stored["templates"]),
            "widest": tuple(ItemSpread(**one) for one in stored["widest"]),
            "humans": tuple(_human_from_json(one) for one in stored["humans"]),
        }
    )


def _sensitivity_jobs(study: Study, scorer: Scorer) -> Any:
    found = Job.objects.filter(study=study, kind=SENSITIVITY_JOB, params={"scorer": scorer.pk})
    return found.order_by("-created_at", "-pk")


def _human_from_json(stored: Mapping[str, Any]) -> HumanFigure:
    spread = stored["spread"]
    return HumanFigure(
        **{
            **stored,
            "by_template": tuple(_estimate_from_json(one) for one in stored["by_template"]),
            "spread": None if spread is None else Spread(**spread),
        }
    )


def _estimate_from_json(stored: Mapping[str, Any]) -> Estimate:
    interval = stored["interval"]
    return Estimate(**{**stored, "interval": None if interval is None else tuple(interval)})
