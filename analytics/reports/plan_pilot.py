"""What a plan starts from: figures of the study's own votes, or published ones that say where they are from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db import connection

from analytics import vote_frames
from analytics.questions import MeasuredQuestion, measured_questions
from analytics.statistics.distinct_rows import FloatArray, IntArray
from analytics.statistics.planning_agreement import root_n_error
from analytics.statistics.planning_components import Pilot, variance_components
from analytics.statistics.student import t_quantile
from annotation.models import Answer, Judgment, Study, Task

# From the ratings of production quality that come with Audiobox Aesthetics (AES-PAM: 9 systems, 200 prompts, 10 ratings
# of each clip, 0 to 10), as shares of the scale's width. They name no raters: a quarter of the variance among the
# ratings of one clip is taken to be severity.
RATING_SHARES = {"sd_raters": 0.079, "sd_items": 0.035, "sd_outputs": 0.066, "sd_residual": 0.137}
# ORCA: alpha 0.82 (ordinal), its jackknife error times the root of the 2,033 answers with two
# ratings or more, which have 3.03 each.
RATING_AGREEMENT = {"alpha": 0.82, "alpha_error": 0.364, "pilot_overlap": 3.0}
# CMI-Pref: 445 of 644 pairs of votes on a comparison agree, 1,056 votes on 492 comparisons. Ties: FENSE, 2 to 5 %. How
# far one rater's votes on a pair of systems hang together is a guess.
PREFERENCE_SHARES = {"ties": 0.03, "between_items": 0.38, "between_raters": 0.02}
PREFERENCE_AGREEMENT = {"alpha": 0.38, "alpha_error": 0.92, "pilot_overlap": 2.0}

# Beyond, a rater has left the page and come back.
_LONGEST_SECONDS = 1800

_SECONDS = f"""
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM j.submitted_at - j.started_at))::float8
FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id AND t.kind = {Task.Kind.REGULAR:d}
WHERE j.study_id = %s AND j.effective AND NOT j.excluded AND j.origin = {Judgment.Origin.RATED:d}
  AND j.submitted_at - j.started_at BETWEEN interval '1 second' AND interval '{_LONGEST_SECONDS} seconds'
"""


def published(question_kind: str, width: float) -> dict[str, float]:
    """Starting values where there are no votes: names as in `plan.Asked`."""
    if question_kind == "preference":
        return {**PREFERENCE_SHARES, **PREFERENCE_AGREEMENT}
    scaled = {name: float(f"{share * width:.2g}") for name, share in RATING_SHARES.items()}
    return {**scaled, **RATING_AGREEMENT}


def pilot_figures(study: Study) -> dict[str, Any]:
    """By question what its votes say, and how long a judgment takes; reads all votes, so it belongs in a job."""
    questions = {question.key: question_pilot(question) for question in measured_questions(study)}
    return {"questions": questions, "seconds": median_seconds(study)}


def median_seconds(study: Study) -> float | None:
    """From opening a task to its answer; None where nobody has rated here."""
    with connection.cursor() as cursor:
        cursor.execute(_SECONDS, [study.pk])
        found = cursor.fetchone()[0]
    return None if found is None else float(found)


def question_pilot(question: MeasuredQuestion) -> dict[str, Any]:
    votes = vote_frames.votes(question).counted()
    item, first, second = votes.units.item, votes.units.first, votes.units.second
    if question.is_preference:
        return _preferences(votes.value, votes.unit, item, first, second, votes.rater)
    pilot = variance_components(
        votes.value,
        unit=votes.unit,
        system=first[votes.unit] + 1,
        item=item[votes.unit],
        rater=votes.rater,
    )
    parts = pilot.components
    figures = (
        {}
        if parts is None
        else {
            "sd_raters": math.sqrt(parts.raters),
            "sd_items": math.sqrt(parts.items),
            "sd_outputs": math.sqrt(parts.outputs),
            "sd_residual": math.sqrt(parts.residual),
        }
    )
    return {**_described(pilot), "figures": figures}


def agreement_figures(stored: Mapping[str, Any]) -> dict[str, float]:
    """Alpha and its error from a question's stored agreement; empty where that has no interval."""
    shown = stored.get("symmetric") or stored
    ci, units = shown.get("ci95"), shown.get("pairable_units") or 0
    if shown.get("alpha") is None or ci is None or units < 2:
        return {}
    error = (shown["alpha"] - ci[0]) / t_quantile(0.975, df=units - 1)
    return {
        "alpha": shown["alpha"],
        "alpha_error": root_n_error(error, units=units),
        "pilot_overlap": shown["pairable_ratings"] / units,
    }


def _preferences(
    value: FloatArray, unit: IntArray, item: IntArray, first: IntArray, second: IntArray, rater: IntArray
) -> dict[str, Any]:
    """A vote is 1 for the system that comes first by name, 1/2 for a tie; both bad says nothing of the two."""
    decided = value != Answer.Choice.BOTH_BAD
    unit, rater, value = unit[decided], rater[decided], value[decided]
    one, other = first[unit], second[unit]
    won = np.select([value == Answer.Choice.TIE, value == Answer.Choice.FIRST], [0.5, 1.0], 0.0)
    won = np.where(one <= other, won, 1 - won)
    pair = np.minimum(one, other) * (int(max(first.max(initial=0), second.max(initial=0))) + 2)
    pair = pair + np.maximum(one, other) + 1
    pair -= pair.min(initial=0)
    pilot = variance_components(won, unit=unit, system=pair, item=item[unit], rater=rater)
    figures: dict[str, float] = {}
    if len(won):
        figures["ties"] = float((won == 0.5).mean())
    if pilot.components is not None and pilot.components.total > 0:
        parts = pilot.components
        figures["between_items"] = (parts.items + parts.outputs) / parts.total
        figures["between_raters"] = parts.raters / parts.total
    return {**_described(pilot), "figures": figures}


def _described(pilot: Pilot) -> dict[str, Any]:
    return {
        "votes": pilot.votes,
        "outputs": pilot.outputs,
        "systems": pilot.systems,
        "raters": pilot.raters,
        "notes": list(pilot.notes),
    }
