"""The figures that a version is known by, one line each, on held-out votes."""

from __future__ import annotations

import numpy as np
from django.utils.translation import gettext as _

from analytics.reports.document import Cell, Table
from analytics.reports.learned.held_out import Whose
from analytics.reports.paper.models_cells import (
    count_column,
    drawn_by_prompt,
    measured,
    number_column,
    scorer_column,
)
from analytics.reports.paper.models_judged import Compared, Rated
from analytics.reports.paper.models_preferences import accuracy_column
from analytics.reports.paper.models_question import Asked
from analytics.reports.paper.models_scales import ends, from_0_to_1
from analytics.reports.paper.models_scores import VARIANCE, Contender
from analytics.statistics.calibration import calibration
from analytics.statistics.correlation import correlations
from analytics.statistics.human_ceiling import preference_ceiling, rating_ceiling
from analytics.statistics.pairwise_accuracy import pairwise_accuracy
from analytics.statistics.rating_error import FEWEST_RATINGS, absolute_error, variance_error

_KEYS: dict[Whose, str] = {"": "glance", "everybody": "glance_everybody", "held out": "glance_raters"}


def preference_glance(asked: Asked, found: Compared, everybodys: Compared, *, whose: Whose = "") -> Table:
    """`everybodys`: the same items by all raters' first votes, for what one person comes to. `whose` votes `found`
    rests on, where these are not what all the other figures rest on."""
    return Table(
        key=asked.key(_KEYS[whose]),
        caption=_caption(whose) % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Pairs")), accuracy_column(),
            number_column("cross_entropy", _("Cross-entropy")), number_column("brier", _("Brier")),
            number_column("ece", _("ECE")), number_column("person", _("One person")),
            number_column("ratio", _("Scorer / person")),
        ],
        rows=[_of_pairs(asked, found, everybodys, one) for one in asked.contenders],
        notes=[drawn_by_prompt(asked.resampling), _person_note()],
    )  # fmt: skip


def _of_pairs(asked: Asked, found: Compared, everybodys: Compared, one: Contender) -> list[Cell]:
    leads, clusters = one.leads(found.first, found.second), found.prompt.tolist()
    accuracy = pairwise_accuracy(leads, found.lead, clusters=clusters, resampling=asked.resampling).accuracy
    fit = calibration(
        one.logits(leads),
        found.votes[:, 0],
        found.votes[:, 1],
        clusters=clusters,
        resampling=asked.resampling,
    )
    ceiling = preference_ceiling(
        everybodys.votes,
        one.leads(everybodys.first, everybodys.second),
        clusters=everybodys.prompt.tolist(),
        resampling=asked.resampling,
    )
    return [
        one.name, accuracy.n, measured(accuracy), measured(fit.cross_entropy), measured(fit.brier), fit.ece,
        measured(ceiling.human), measured(ceiling.ratio),
    ]  # fmt: skip


def rating_glance(asked: Asked, found: Rated, everybodys: Rated, *, whose: Whose = "") -> Table:
    return Table(
        key=asked.key(_KEYS[whose]),
        caption=_caption(whose) % asked.named,
        columns=[
            scorer_column(), count_column("n", _("Items")), number_column("spearman", _("Spearman (SRCC)")),
            number_column("kendall", _("Kendall (tau-b)")), number_column("mae", _("MAE of the mean")),
            number_column("variance", _("MAE of the variance")), number_column("person", _("One person")),
            number_column("ratio", _("Scorer / person")),
        ],
        rows=[_of_ratings(asked, found, everybodys, one) for one in asked.contenders],
        notes=[
            drawn_by_prompt(asked.resampling),
            _(
                "MAE: on a scale from 0 to 1; of the variance over items with %(n)s ratings or more. “One person” and "
                "“Scorer / person” are of Spearman’s correlation."
            )
            % {"n": FEWEST_RATINGS},
            _person_note(),
        ],
    )  # fmt: skip


def _of_ratings(asked: Asked, found: Rated, everybodys: Rated, one: Contender) -> list[Cell]:
    scores, clusters, scale = one.of(found.candidate), found.prompt.tolist(), ends(asked.question)
    three = correlations(scores, found.mean, clusters=clusters, resampling=asked.resampling)
    ceiling = rating_ceiling(
        everybodys.row,
        everybodys.value,
        one.of(everybodys.candidate),
        clusters=everybodys.prompt.tolist(),
        resampling=asked.resampling,
    ).srcc
    errors: list[Cell] = [None, None]
    if scale is not None:
        width = scale[1] - scale[0]
        if (near := from_0_to_1(scores, scale)) is not None:
            human = (found.mean - scale[0]) / width
            error = absolute_error(near, human, clusters=clusters, resampling=asked.resampling)
            errors[0] = measured(error.error)
        errors[1] = _of_variance(asked, found, one, (found.value - scale[0]) / width)
    return [
        one.name, three.srcc.n, measured(three.srcc), measured(three.ktau), *errors, measured(ceiling.human),
        measured(ceiling.ratio),
    ]  # fmt: skip


def _of_variance(asked: Asked, found: Rated, one: Contender, rating: np.ndarray) -> Cell:
    scorer = next((each for each in asked.scored if each.scorer == one.scorer), None)
    expected = scorer.output(VARIANCE) if scorer else None
    if expected is None:
        return None
    error = variance_error(
        expected.of(found.candidate),
        found.row,
        rating,
        clusters=found.prompt.tolist(),
        resampling=asked.resampling,
    )
    return measured(error.error)


def _caption(whose: Whose) -> str:
    if whose == "everybody":
        return _("The same by all raters, those it learned from among them: %(question)s")
    if whose == "held out":
        return _("The same by the held-out raters alone: %(question)s")
    return _("At a glance, on held-out votes: %(question)s")


def _person_note() -> str:
    return _(
        "One person: what each rater of an item comes to against the rest of its raters; the scorer is compared with "
        "the same rest. These two rest on all raters’ votes on the held-out items, where two or more judged the same."
    )
