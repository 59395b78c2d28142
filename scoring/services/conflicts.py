"""The flag rule of models: a scorer that says clearly otherwise than the raters.

A rating and a score are compared on a scale from 0 to 1 where the range of the score is known; else by where each
stands among all of the study's, so that a score without a range only has to put answers in the raters' order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from annotation.models import Answer, Study
from annotation.protocols import Protocol, QuestionSpec
from annotation.rules.flag_rules import MODEL_CONFLICT, FlagRule
from annotation.services.flag_queries import STRONGEST, Query
from annotation.services.flag_sweeps import Source
from annotation.services.flags_by_votes import ANSWERED, asked_alike, scale
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Scorer, ScoringRun

NEW_SCORES = Source(
    highest="SELECT max(id) FROM scoring_score",
    changed="SELECT c.item_version_id FROM scoring_score s"
    " JOIN annotation_candidate c ON c.id = s.candidate_id"
    " JOIN annotation_itemversion v ON v.id = c.item_version_id"
    " JOIN annotation_item i ON i.id = v.item_id AND i.study_id = %(study)s WHERE s.id > %(low)s",
    rule=MODEL_CONFLICT,
)

# Scores from 0 to 1, whatever the settings. What others give depends on what they were asked for.
PROBABILITIES = frozenset({"aqascore"})
# Fewer say nothing about ranks.
MIN_RANKED = 20
_QUANTILES = 200

_ASKED = "asked AS (SELECT unnest(%(questions)s::bigint[]) AS id)"

_RATED = f"""
{_ASKED}, rated AS (
    SELECT scope.version, a.task_id AS task, coalesce(a.candidate_id, k.candidate_id) AS candidate, count(*) AS n,
           avg(a.value) AS mean, max(j.submitted_at) AS newest
    {ANSWERED}
    LEFT JOIN annotation_taskcandidate k ON k.task_id = a.task_id AND k.slot = 0 AND a.candidate_id IS NULL
    WHERE a.value IS NOT NULL
    GROUP BY 1, 2, 3 HAVING count(*) >= %(min_ratings)s
), compared AS (
    SELECT rated.*, s.value AS score
    FROM rated JOIN scoring_score s ON s.scorer_id = %(scorer_id)s AND s.candidate_id = rated.candidate
        AND s.other_id IS NULL AND s.output = %(output)s AND s.value IS NOT NULL
)
"""

_BY_SCALE = """
, placed AS (
    SELECT compared.*, (mean - %(least)s) / (%(most)s - %(least)s) AS human,
           least(1.0, greatest(0.0, score)) AS model
    FROM compared
)
"""

# A value's rank is the middle of the places that it could take among the quantiles.
_BY_RANK = """
, placed AS (
    SELECT compared.*,
           (SELECT avg(((q < mean)::int + (q <= mean)::int) / 2.0) FROM unnest(%(means)s::float8[]) q) AS human,
           (SELECT avg(((q < score)::int + (q <= score)::int) / 2.0) FROM unnest(%(scores)s::float8[]) q) AS model
    FROM compared
)
"""

_FOUND = f"""
, unit AS (
    SELECT version, task, abs(human - model) AS weight, newest, jsonb_build_object(
        'scorer', %(scorer)s::text, 'scorer_id', %(scorer_id)s::bigint, 'output', %(output)s::text,
        'question', %(question)s::text, 'how', %(how)s::text, 'candidate', candidate, 'n', n, 'mean', mean,
        'score', score, 'human', human::float8, 'model', model::float8,
        'difference', abs(human - model)::float8) AS evidence
    FROM placed WHERE abs(human - model) >= %(difference)s
), {STRONGEST}
"""

_QUANTILES_OF = """
, fractions AS (SELECT array_agg(i / %(steps)s::float8) AS f FROM generate_series(0, %(steps)s) i)
SELECT count(*), percentile_cont((SELECT f FROM fractions)) WITHIN GROUP (ORDER BY mean),
       percentile_cont((SELECT f FROM fractions)) WITHIN GROUP (ORDER BY score)
FROM compared
"""

_WHOLE_STUDY = """
WITH scope AS (
    SELECT current_version_id AS version FROM annotation_item WHERE study_id = %(study)s AND state = 'active'
),
"""

# `sure`: how far a model's choice is from undecided, from 0 to 1. Scores name the pair either way round.
_VOTED = f"""
{_ASKED}, voted AS (
    SELECT scope.version, a.task_id AS task, count(*) AS n, max(j.submitted_at) AS newest,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.FIRST:d}) AS first,
           count(*) FILTER (WHERE a.choice = {Answer.Choice.SECOND:d}) AS second
    {ANSWERED} AND a.choice IS NOT NULL
    GROUP BY scope.version, a.task_id HAVING count(*) >= %(min_ratings)s
), compared AS (
    SELECT voted.*, s.value AS score,
           (s.value - %(middle)s) / %(reach)s * CASE WHEN s.candidate_id = k0.candidate_id THEN 1 ELSE -1 END AS lead
    FROM voted
    JOIN annotation_taskcandidate k0 ON k0.task_id = voted.task AND k0.slot = 0
    JOIN annotation_taskcandidate k1 ON k1.task_id = voted.task AND k1.slot = 1
    JOIN scoring_score s ON s.scorer_id = %(scorer_id)s AND s.output = %(output)s AND s.value IS NOT NULL
        AND ((s.candidate_id = k0.candidate_id AND s.other_id = k1.candidate_id)
             OR (s.candidate_id = k1.candidate_id AND s.other_id = k0.candidate_id))
), unit AS (
    SELECT version, task, least(1.0, abs(lead)) AS weight, newest, jsonb_build_object(
        'scorer', %(scorer)s::text, 'scorer_id', %(scorer_id)s::bigint, 'output', %(output)s::text,
        'question', %(question)s::text, 'how', 'sides', 'n', n, 'first', first, 'second', second, 'score', score,
        'model_prefers', CASE WHEN lead > 0 THEN 1 ELSE 2 END,
        'difference', least(1.0, abs(lead))::float8) AS evidence
    FROM compared
    WHERE abs(lead) >= %(difference)s AND ((2 * first > n AND lead < 0) OR (2 * second > n AND lead > 0))
), {STRONGEST}
"""


@dataclass(frozen=True)
class _Asked:
    """A question that a score can be compared with, in all protocol versions that ask it alike."""

    spec: QuestionSpec
    ids: tuple[int, ...]


def query(study: Study, rule: FlagRule) -> Query | None:
    """None where the study has no such scorer yet, or no question that it can be compared with."""
    scorer = _scorer(study, rule["scorer"])
    if scorer is None:
        return None
    entry = registry.METRICS.get(scorer.key)
    pairs = entry is not None and entry.reads == Reads.PAIR
    question = _question(study, rule["question"], pairs=pairs)
    if question is None:
        return None
    params = {
        "questions": list(question.ids),
        "question": question.spec.key,
        "scorer": scorer.key,
        "scorer_id": scorer.pk,
        "output": rule["output"],
        "difference": rule["difference"],
        "min_ratings": rule["min_ratings"],
    }
    if pairs:
        # A probability is undecided at a half, a difference at nothing.
        middle = float(scorer.config.get("prefers_first_above", 0.5))
        return Query(_VOTED, {**params, "middle": middle, "reach": 0.5 if middle else 1.0})
    return _of_ratings(study, scorer, question, params)


def _of_ratings(study: Study, scorer: Scorer, question: _Asked, params: Mapping[str, Any]) -> Query | None:
    if scorer.key in PROBABILITIES:
        least, most = scale(question.spec)
        return Query(_RATED + _BY_SCALE + _FOUND, {**params, "least": least, "most": most, "how": "scale"})
    with connection.cursor() as cursor:
        sql = _WHOLE_STUDY + _RATED + _QUANTILES_OF
        cursor.execute(sql, {**params, "study": study.pk, "steps": _QUANTILES})
        n, means, scores = cursor.fetchone()
    if n < MIN_RANKED:
        return None
    return Query(_RATED + _BY_RANK + _FOUND, {**params, "means": means, "scores": scores, "how": "ranks"})


def _scorer(study: Study, name: str) -> Scorer | None:
    """The version of a scorer that this study was scored by last, by the scorer's name or a version's digest."""
    runs = (
        ScoringRun.objects.filter(study=study, scorer__isnull=False).select_related("scorer").order_by("-pk")
    )
    run = runs.filter(scorer__key=name).first() or runs.filter(scorer__digest=name).first()
    return run.scorer if run else None


def _question(study: Study, key: str, *, pairs: bool) -> _Asked | None:
    def fits(protocol: Protocol, spec: QuestionSpec) -> bool:
        if key not in ("", spec.key) or not spec.level:
            return False
        if pairs:
            return spec.kind == "preference" and protocol.candidates == (2, 2)
        return spec.level != "nominal" and (spec.per_candidate or protocol.candidates == (1, 1))

    asked = asked_alike(study, fits)
    if not asked:
        return None
    spec = asked[0][1]
    return _Asked(spec, tuple(pk for pk, other in asked if other.key == spec.key))
