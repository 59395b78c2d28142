"""Several judges of answers taken as one: their mean, and learned weights (ORCA, section 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from analytics.reports.document import Block, Cell, Paragraph, Table
from analytics.reports.paper.models_cells import number_column, scorer_column
from analytics.reports.paper.models_judged import Rated
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_scales import ends, from_0_to_1
from analytics.reports.paper.models_scores import Contender
from analytics.reports.paper.sentences import because
from analytics.statistics import judge_aggregation
from analytics.statistics.distinct_rows import FloatArray
from analytics.statistics.judge_aggregation import CrossFitted, cross_fitted, simple_mean
from scoring.models import Scorer

_MARKED = (
    gettext_noop(
        "There are too few answers to learn weights from: with a fifth of the prompts set apart, three must be left "
        "that people rated and all judges scored."
    ),
)


@dataclass(frozen=True, eq=False)
class Together:
    """asked: with the judges taken as one after the single ones. weights: a table of them, or why there are none."""

    asked: Asked
    weights: Block


def together(asked: Asked, whole: Rated) -> Together | None:
    """`whole`: the held-out answers with everybody's ratings, which weights are learned from. None where fewer than two
    scorers foretell ratings on a scale that is known."""
    scale = ends(asked.question)
    if scale is None:
        return None
    brought = [(one, from_0_to_1(one.of(whole.candidate), scale)) for one in asked.contenders]
    judges = [(one, scores) for one, scores in brought if scores is not None]
    if len(judges) < 2:
        return None
    names, scores = [one.name for one, _scores in judges], np.stack([own for _one, own in judges], axis=1)
    people = (whole.mean - scale[0]) / (scale[1] - scale[0])
    learned = cross_fitted(scores, people, whole.prompt, seed=asked.resampling.seed)
    mean = _contender(_("Mean of these %(n)s") % {"n": len(judges)}, whole, simple_mean(scores))
    if missing := because(learned.reason, judge_aggregation.SENTENCES):
        return Together(replace(asked, contenders=[*asked.contenders, mean]), Paragraph(missing))
    weighed = _contender(_("Learned weights"), whole, learned.scores)
    joined = replace(asked, contenders=[*asked.contenders, mean, weighed])
    return Together(joined, _weights(asked, names, learned))


def _contender(name: str, whole: Rated, scores: FloatArray) -> Contender:
    """Its scorer is none that is stored: what several say together is nobody's version."""
    known = zip(whole.candidate.tolist(), scores.tolist(), strict=True)
    by_candidate = {(candidate, 0): score for candidate, score in known if np.isfinite(score)}
    return Contender(name, Scorer(key=name), "value", None, by_candidate)


def _weights(asked: Asked, names: Sequence[str], found: CrossFitted) -> Table:
    weight, slope, intercept = (
        np.array([getattr(part, name) for part in found.parts]) for name in ("weight", "slope", "intercept")
    )
    rows: list[list[Cell]] = [
        [
            name, float(weight[:, at].mean()), float(weight[:, at].min()), float(weight[:, at].max()),
            float(slope[:, at].mean()), float(intercept[:, at].mean()),
        ]
        for at, name in enumerate(names)
    ]  # fmt: skip
    return Table(
        key=asked.key("weights"),
        caption=_("Learned weights: %(question)s") % asked.named,
        columns=[
            scorer_column(), number_column("weight", _("Weight")), number_column("least", _("Least")),
            number_column("most", _("Most")), number_column("slope", _("Calibration, slope")),
            number_column("intercept", _("Calibration, intercept")),
        ],
        rows=rows,
        notes=[
            _(
                "The held-out prompts are dealt into %(parts)s parts. What is said of the answers of one part rests on "
                "weights and calibrations that were fitted, by least squares, to everybody’s ratings of the others: "
                "no answer is foretold by weights that saw it. The table has their means over the parts, and the "
                "least and the greatest weight."
            )
            % {"parts": len(found.parts)},
            _(
                "Calibration: a scorer’s values from 0 to 1 become intercept + slope × value, cut to 0 to 1. Weights "
                "are not negative and sum to 1. Where one has no score, the others share its weight."
            ),
        ],
    )  # fmt: skip
