"""Rules that read what raters said: codes, disagreement, low confidence, failed gold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotation.models import ProtocolVersion, Study, Task
from annotation.protocols import Protocol, QuestionSpec
from annotation.rules.flag_rules import REFERENCE_RANGE, FlagRule
from annotation.services.flag_queries import REGULAR, STANDING, STRONGEST, Query
from annotation.services.protocols import loaded

# Rounding must not decide: a variance of 1 that comes out as 1.0000000000000002 is not above 1.
_ROUNDING = 1e-9

_SAID = f"""
FROM scope
JOIN annotation_task t ON t.item_version_id = scope.version AND {REGULAR}
JOIN annotation_judgment j ON j.task_id = t.id AND {STANDING}
"""
# From `scope` and `asked (id, …)` to the counted answers `a` to regular tasks `t`, each with its judgment `j`.
ANSWERED = f"""
FROM scope
JOIN annotation_task t ON t.item_version_id = scope.version AND {REGULAR}
JOIN annotation_answer a ON a.task_id = t.id AND a.counted
JOIN asked ON asked.id = a.question_id
JOIN annotation_judgment j ON j.id = a.judgment_id AND {STANDING}
"""

# Raters whom an import does not name count as one each.
_CODES = f"""
said AS (
    SELECT scope.version, t.id AS task, j.id AS judgment, coalesce(j.rater_id::text, 'j' || j.id) AS rater,
           j.submitted_at, code
    {_SAID} CROSS JOIN LATERAL unnest(j.codes) AS code
    WHERE code = ANY(%(codes)s)
), by_code AS (
    SELECT version, jsonb_object_agg(code, n) AS codes
    FROM (SELECT version, code, count(*) AS n FROM said GROUP BY version, code) AS counted GROUP BY version
), by_task AS (
    SELECT version, task, count(DISTINCT judgment) AS weight FROM said GROUP BY version, task
), strongest AS (
    SELECT version, array_agg(task ORDER BY weight DESC, task) AS tasks FROM by_task GROUP BY version
), raters AS (
    SELECT version, count(DISTINCT rater) AS n_raters, count(DISTINCT judgment) AS n_judgments,
           max(submitted_at) AS newest
    FROM said GROUP BY version HAVING count(DISTINCT rater) >= %(min_raters)s
), found AS (
    SELECT version, tasks[1] AS task, newest, jsonb_build_object(
        'codes', codes, 'n_raters', n_raters, 'n_judgments', n_judgments, 'tasks', to_jsonb(tasks[1:20])) AS evidence
    FROM raters JOIN by_code USING (version) JOIN strongest USING (version)
)
"""

# Ratings by their unbiased variance, stretched to a scale from 1 to 5; votes by how many are not with the most frequent
# answer. A unit is a task, or one candidate of a task where each is asked about.
_DISAGREEMENT = f"""
asked AS (
    SELECT * FROM unnest(%(questions)s::bigint[], %(keys)s::text[], %(stretch)s::float8[]) AS q (id, key, stretch)
), answered AS (
    SELECT scope.version, a.task_id, a.candidate_id, asked.key, asked.stretch, a.value,
           coalesce(a.choice, a.value) AS vote, j.submitted_at
    {ANSWERED}
), rated AS (
    SELECT version, task_id, candidate_id, key, count(*) AS n, avg(value) AS mean, var_samp(value) AS variance,
           var_samp(value) * stretch * stretch AS spread, max(submitted_at) AS newest
    FROM answered WHERE stretch IS NOT NULL AND value IS NOT NULL
    GROUP BY version, task_id, candidate_id, key, stretch
    HAVING count(*) >= %(min_ratings)s AND var_samp(value) * stretch * stretch > %(variance)s + {_ROUNDING}
), by_vote AS (
    SELECT version, task_id, candidate_id, key, vote, count(*) AS n, max(submitted_at) AS newest
    FROM answered WHERE stretch IS NULL AND vote IS NOT NULL
    GROUP BY version, task_id, candidate_id, key, vote
), voted AS (
    SELECT version, task_id, candidate_id, key, sum(n)::int AS n, 1 - max(n)::float8 / sum(n)::float8 AS minority,
           jsonb_object_agg(vote, n) AS votes, max(newest) AS newest
    FROM by_vote GROUP BY version, task_id, candidate_id, key
    HAVING sum(n) >= %(min_votes)s AND 1 - max(n)::float8 / sum(n)::float8 >= %(minority)s - {_ROUNDING}
), unit AS (
    SELECT version, task_id AS task, spread / {REFERENCE_RANGE**2 / 2} AS weight, newest, jsonb_build_object(
        'question', key, 'candidate', candidate_id, 'n', n, 'mean', mean, 'variance', variance,
        'variance_on_5', spread) AS evidence
    FROM rated
    UNION ALL
    SELECT version, task_id, minority / 0.5, newest, jsonb_build_object(
        'question', key, 'candidate', candidate_id, 'n', n, 'votes', votes, 'minority', minority)
    FROM voted
), {STRONGEST}
"""

_LOW_CONFIDENCE = f"""
asked AS (
    SELECT * FROM unnest(%(questions)s::bigint[], %(keys)s::text[], %(stretch)s::float8[], %(lowest)s::float8[])
        AS q (id, key, stretch, lowest)
), unsure AS (
    SELECT scope.version, a.task_id AS task, a.candidate_id, asked.key, count(*) AS n, avg(a.confidence) AS mean,
           1 + (avg(a.confidence) - lowest) * stretch AS mean_on_5, max(j.submitted_at) AS newest,
           array_agg(a.confidence ORDER BY a.confidence) AS confidences
    {ANSWERED} AND a.confidence IS NOT NULL
    GROUP BY scope.version, a.task_id, a.candidate_id, asked.key, asked.stretch, asked.lowest
), unit AS (
    SELECT version, task, -mean_on_5 AS weight, newest, jsonb_build_object(
        'question', key, 'candidate', candidate_id, 'n', n, 'mean', mean, 'mean_on_5', mean_on_5,
        'confidences', to_jsonb(confidences)) AS evidence
    FROM unsure WHERE n >= %(min_answers)s AND mean_on_5 <= %(confidence)s + {_ROUNDING}
), {STRONGEST}
"""

_FAILED_GOLD = f"""
judged AS (
    SELECT scope.version, t.id AS task, j.id AS judgment, j.submitted_at, EXISTS (
        SELECT 1 FROM annotation_goldkey key
        JOIN annotation_answer a ON a.judgment_id = j.id
        JOIN annotation_question q ON q.id = a.question_id AND q.key = key.question_key
        WHERE key.task_id = t.id AND (a.choice <> key.choice OR abs(a.value - key.value) > key.tolerance)
    ) AS failed
    FROM scope
    JOIN annotation_task t ON t.item_version_id = scope.version AND t.kind = {Task.Kind.GOLD:d}
    JOIN annotation_judgment j ON j.task_id = t.id AND {STANDING}
), unit AS (
    SELECT version, task, count(*) FILTER (WHERE failed) AS weight,
           max(submitted_at) FILTER (WHERE failed) AS newest, jsonb_build_object(
               'n_failed', count(*) FILTER (WHERE failed), 'n', count(*)) AS evidence
    FROM judged GROUP BY version, task HAVING count(*) FILTER (WHERE failed) >= %(min_raters)s
), {STRONGEST}
"""


def codes(study: Study, rule: FlagRule) -> Query | None:
    wanted = rule["codes"] or tuple(
        dict.fromkeys(code for version in _versions(study) for code in loaded(version).spec.code_keys)
    )
    return Query(_CODES, {"codes": list(wanted), "min_raters": rule["min_raters"]}) if wanted else None


def disagreement(study: Study, rule: FlagRule) -> Query | None:
    asked = asked_alike(study, lambda _, spec: bool(spec.level))
    if not asked:
        return None
    numbers = {name: rule[name] for name in ("variance", "min_ratings", "minority", "min_votes")}
    stretch = [None if spec.level == "nominal" else _stretch(*scale(spec)) for _, spec in asked]
    return Query(_DISAGREEMENT, {**_columns(asked), "stretch": stretch, **numbers})


def low_confidence(study: Study, rule: FlagRule) -> Query | None:
    asked = asked_alike(study, lambda _, spec: spec.confidence is not None)
    if not asked:
        return None
    scales = [spec.confidence.values for _, spec in asked if spec.confidence]
    return Query(
        _LOW_CONFIDENCE,
        {
            **_columns(asked),
            "stretch": [_stretch(min(values), max(values)) for values in scales],
            "lowest": [min(values) for values in scales],
            "confidence": rule["confidence"],
            "min_answers": rule["min_answers"],
        },
    )


def failed_gold(study: Study, rule: FlagRule) -> Query:
    return Query(_FAILED_GOLD, {"min_raters": rule["min_raters"]})


def _versions(study: Study) -> list[int]:
    """The newest first."""
    return list(ProtocolVersion.objects.filter(study=study).order_by("-number").values_list("pk", flat=True))


def asked_alike(
    study: Study, wanted: Callable[[Protocol, QuestionSpec], bool]
) -> list[tuple[int, QuestionSpec]]:
    """The rows of the questions wanted, as the newest version asks each; earlier ones only where the scale is the same,
    for their answers are not comparable otherwise."""
    newest: dict[str, QuestionSpec] = {}
    found = []
    for version in _versions(study):
        protocol = loaded(version)
        for spec in protocol.spec.questions:
            if wanted(protocol.spec, spec) and _alike(newest.setdefault(spec.key, spec), spec):
                found.append((protocol.question_ids[spec.key], spec))
    return found


def _alike(one: QuestionSpec, other: QuestionSpec) -> bool:
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("kind", "level", "values", "minimum", "maximum", "per_candidate")
    ) and (one.confidence and one.confidence.values) == (other.confidence and other.confidence.values)


def _columns(asked: list[tuple[int, QuestionSpec]]) -> dict[str, Any]:
    return {"questions": [pk for pk, _ in asked], "keys": [spec.key for _, spec in asked]}


def scale(spec: QuestionSpec) -> tuple[float, float]:
    """The least and the greatest value of a rating."""
    if spec.minimum is not None and spec.maximum is not None:
        return spec.minimum, spec.maximum
    return min(spec.values), max(spec.values)


def _stretch(least: float, most: float) -> float:
    """What a difference on this scale is worth on one from 1 to 5."""
    return REFERENCE_RANGE / (most - least)
