"""Flag queries: each rule's findings by one SQL statement, whatever the size of the study.

Rules look at the current versions of active items, and at what independent raters said of them: judgments that stand,
of regular tasks, without experts' own. Models' rules come from the app that scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from annotation.models import Assignment, ProtocolVersion, Study, Task
from annotation.protocols import Protocol, QuestionSpec
from annotation.protocols.changes import is_same_scale
from annotation.rating import counted
from annotation.review import flag_rules
from annotation.review.cases import Finding
from annotation.review.flag_rules import AUDIT_DIGITS, AUDIT_NAME, REFERENCE_RANGE, FlagRule
from annotation.studies.protocols import load_protocol

_MAX_TASKS = 20


@dataclass(frozen=True)
class RuleQuery:
    """Common table expressions that end with `found (version, task, newest, evidence)`, at most one row per version.

    They may use `scope (version, item)`. `newest`: when the last of the votes was given that the finding rests on.
    """

    ctes: str
    params: Mapping[str, Any] = field(default_factory=dict)


# The evidence of the unit that says most, with the tasks that say it, that one first. `unit (version, task, weight,
# newest, evidence)` comes before it.
STRONGEST_EVIDENCE = f"""
found AS (
    SELECT version, (array_agg(task ORDER BY weight DESC, task))[1] AS task, max(newest) AS newest,
           (array_agg(evidence ORDER BY weight DESC, task))[1] || jsonb_build_object(
               'tasks', to_jsonb((array_agg(task ORDER BY weight DESC, task))[1:{_MAX_TASKS}])) AS evidence
    FROM unit GROUP BY version
)
"""

_SCOPE_SQL = """
WITH scope AS (
    SELECT v.id AS version, i.id AS item
    FROM annotation_item i JOIN annotation_itemversion v ON v.id = i.current_version_id
    WHERE i.study_id = %(study)s AND i.state = 'active' AND NOT v.retracted {some}
),
"""
_SOME_VERSIONS = "AND v.id = ANY(%(versions)s)"

# A rule fires once for a version; again only on votes that came after the case was resolved.
_FIRES_SQL = """
NOT EXISTS (SELECT 1 FROM annotation_reviewcase c JOIN annotation_casereason r ON r.case_id = c.id
            WHERE c.item_version_id = found.version AND c.state <> 'resolved' AND r.rule = %(rule)s)
AND NOT EXISTS (SELECT 1 FROM annotation_reviewcase c
                WHERE c.item_version_id = found.version AND c.state = 'resolved'
                  AND (found.newest IS NULL OR c.resolved_at >= found.newest))
"""

_NEW_FINDINGS_SQL = f"SELECT version, task, newest, evidence FROM found WHERE {_FIRES_SQL} ORDER BY version"

_COUNT_FINDINGS_SQL = """
SELECT count(*), count(*) FILTER (WHERE new),
       array(SELECT i.external_id FROM counted JOIN annotation_item i ON i.id = counted.item
             ORDER BY NOT new, i.id LIMIT %(examples)s)
FROM counted
"""


def new_findings(
    study: Study, rule: FlagRule, query: RuleQuery, *, versions: Sequence[int] | None
) -> list[Finding]:
    """What the rule finds about these versions (all current ones for None) and has not said of them yet."""
    params = {"study": study.pk, "rule": rule.key, "versions": list(versions or ()), **query.params}
    scope = _SCOPE_SQL.format(some="" if versions is None else _SOME_VERSIONS)
    with connection.cursor() as cursor:
        cursor.execute(scope + query.ctes + _NEW_FINDINGS_SQL, params)
        rows = cursor.fetchall()
    return [_finding(rule, *row) for row in rows]


def count_findings(
    study: Study, rule: FlagRule, query: RuleQuery, *, examples: int
) -> tuple[int, int, list[str]]:
    """Of the whole study: how many items the rule finds, how many of them it has not said, and the names of a few."""
    counted = f", counted AS (SELECT item, {_FIRES_SQL} AS new FROM found JOIN scope USING (version))"
    sql = _SCOPE_SQL.format(some="") + query.ctes + counted + _COUNT_FINDINGS_SQL
    with connection.cursor() as cursor:
        cursor.execute(sql, {"study": study.pk, "rule": rule.key, "examples": examples, **query.params})
        n_items, n_new, names = cursor.fetchone()
        return n_items, n_new, names


def _finding(
    rule: FlagRule, version: int, task: int | None, newest: datetime | None, evidence_json: str
) -> Finding:
    evidence: dict[str, Any] = json.loads(evidence_json)
    if "tasks" in evidence:  # one task may have fired by several questions
        evidence["tasks"] = list(dict.fromkeys(evidence["tasks"]))
    evidence["strength"] = round(rule.strength(evidence), 4)
    return Finding(version, task, newest, evidence, rule.weight_of(evidence))


# Rules about progress: unannotated items, audits of complete ones

# Items without a vote, where the study has stopped asking, or several raters have declined to judge.
_UNANNOTATED_SQL = f"""
bare AS (
    SELECT scope.version, min(t.id) AS first, count(t.id) AS n_tasks
    FROM scope LEFT JOIN annotation_task t ON t.item_version_id = scope.version
    GROUP BY scope.version
    HAVING coalesce(sum(t.n_judgments), 0) = 0 AND NOT coalesce(bool_and(t.kind <> {Task.Kind.REGULAR:d}), false)
), skipped AS (
    SELECT t.item_version_id AS version, a.task_id AS task, a.rater_id, a.skip_reason, a.closed_at
    FROM annotation_rater r
    JOIN annotation_assignment a ON a.rater_id = r.id AND a.state = {Assignment.State.SKIPPED:d}
    JOIN annotation_task t ON t.id = a.task_id
    WHERE r.study_id = %(study)s AND r.n_skips > 0
), declined AS (
    SELECT version, count(DISTINCT rater_id) AS n_raters, max(closed_at) AS newest, min(task) AS task,
           to_jsonb(array_agg(DISTINCT skip_reason)) AS reasons
    FROM skipped GROUP BY version
), found AS (
    SELECT bare.version, coalesce(declined.task, bare.first) AS task, declined.newest, jsonb_build_object(
        'state', %(state)s::text, 'n_tasks', bare.n_tasks, 'n_skipped', coalesce(declined.n_raters, 0),
        'reasons', coalesce(declined.reasons, '[]')) AS evidence
    FROM bare LEFT JOIN declined USING (version)
    WHERE %(stopped)s OR declined.n_raters >= %(min_skips)s
)
"""

# The draw is a hash that anybody can compute again; `flag_rules.audit_draw` is the same.
_AUDIT_SQL = f"""
complete AS (
    SELECT scope.version, scope.item, (array_agg(t.id ORDER BY t.shuffle_key, t.id))[1] AS task
    FROM scope JOIN annotation_task t ON t.item_version_id = scope.version
    WHERE t.kind = {Task.Kind.REGULAR:d} AND t.state <> {Task.State.WITHDRAWN:d}
    GROUP BY scope.version, scope.item HAVING bool_and(t.n_judgments >= t.overlap)
), drawn AS (
    SELECT complete.version, complete.task, ('x' || left(encode(sha256(convert_to(
        %(seed)s || ':{AUDIT_NAME}:' || i.external_id, 'UTF8')), 'hex'), {AUDIT_DIGITS})
    )::bit({4 * AUDIT_DIGITS})::bigint / 2.0 ^ {4 * AUDIT_DIGITS} AS draw
    FROM complete JOIN annotation_item i ON i.id = complete.item
), found AS (
    SELECT version, task, NULL::timestamptz AS newest,
           jsonb_build_object('share', %(share)s::float8, 'draw', draw::float8) AS evidence
    FROM drawn WHERE draw < %(share)s
)
"""


def unannotated_query(study: Study, rule: FlagRule) -> RuleQuery:
    stopped = study.state in (Study.State.PAUSED, Study.State.CLOSED)
    return RuleQuery(
        _UNANNOTATED_SQL, {"stopped": stopped, "state": study.state, "min_skips": rule["min_skips"]}
    )


def audit_query(study: Study, rule: FlagRule) -> RuleQuery:
    return RuleQuery(_AUDIT_SQL, {"seed": str(study.seed), "share": rule["share"]})


# Rules about judgments: codes, disagreement, low confidence, failed gold items

# Rounding must not decide: a variance of 1 that comes out as 1.0000000000000002 is not above 1.
_ROUNDING = 1e-9

_FEEDBACK_SQL = f"""
FROM scope
JOIN annotation_task t ON t.item_version_id = scope.version AND {counted.REGULAR_TASK}
JOIN annotation_judgment j ON j.task_id = t.id AND {counted.COUNTED}
"""
# From `scope` and `asked (id, …)` to the counted answers `a` to regular tasks `t`, each with its judgment `j`.
ANSWERED_SQL = f"""
FROM scope
JOIN annotation_task t ON t.item_version_id = scope.version AND {counted.REGULAR_TASK}
JOIN annotation_answer a ON a.task_id = t.id AND a.counted
JOIN asked ON asked.id = a.question_id
JOIN annotation_judgment j ON j.id = a.judgment_id AND {counted.COUNTED}
"""

# Raters whom an import does not name count as one each.
_CODES_SQL = f"""
said AS (
    SELECT scope.version, t.id AS task, j.id AS judgment, coalesce(j.rater_id::text, 'j' || j.id) AS rater,
           j.submitted_at, code
    {_FEEDBACK_SQL} CROSS JOIN LATERAL unnest(j.codes) AS code
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
# answer, several options being one answer. A unit is a task, or one candidate of a task where each is asked about.
_DISAGREEMENT_SQL = f"""
asked AS (
    SELECT * FROM unnest(%(questions)s::bigint[], %(keys)s::text[], %(stretch)s::float8[]) AS q (id, key, stretch)
), answered AS (
    SELECT scope.version, a.task_id, a.candidate_id, asked.key, asked.stretch, a.value,
           CASE WHEN a.selected IS NULL THEN coalesce(a.choice, a.value)::text
                ELSE coalesce(nullif(array_to_string(a.selected, '+'), ''), '0') END AS vote, j.submitted_at
    {ANSWERED_SQL}
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
), {STRONGEST_EVIDENCE}
"""

_LOW_CONFIDENCE_SQL = f"""
asked AS (
    SELECT * FROM unnest(%(questions)s::bigint[], %(keys)s::text[], %(stretch)s::float8[], %(lowest)s::float8[])
        AS q (id, key, stretch, lowest)
), unsure AS (
    SELECT scope.version, a.task_id AS task, a.candidate_id, asked.key, count(*) AS n, avg(a.confidence) AS mean,
           1 + (avg(a.confidence) - lowest) * stretch AS mean_on_5, max(j.submitted_at) AS newest,
           array_agg(a.confidence ORDER BY a.confidence) AS confidences
    {ANSWERED_SQL} AND a.confidence IS NOT NULL
    GROUP BY scope.version, a.task_id, a.candidate_id, asked.key, asked.stretch, asked.lowest
), unit AS (
    SELECT version, task, -mean_on_5 AS weight, newest, jsonb_build_object(
        'question', key, 'candidate', candidate_id, 'n', n, 'mean', mean, 'mean_on_5', mean_on_5,
        'confidences', to_jsonb(confidences)) AS evidence
    FROM unsure WHERE n >= %(min_answers)s AND mean_on_5 <= %(confidence)s + {_ROUNDING}
), {STRONGEST_EVIDENCE}
"""

_FAILED_GOLD_SQL = f"""
judged AS (
    SELECT scope.version, t.id AS task, j.id AS judgment, j.submitted_at, EXISTS (
        SELECT 1 FROM annotation_goldkey key
        JOIN annotation_answer a ON a.judgment_id = j.id
        JOIN annotation_question q ON q.id = a.question_id AND q.key = key.question_key
        WHERE key.task_id = t.id AND (a.choice <> key.choice OR abs(a.value - key.value) > key.tolerance)
    ) AS failed
    FROM scope
    JOIN annotation_task t ON t.item_version_id = scope.version AND t.kind = {Task.Kind.GOLD:d}
    JOIN annotation_judgment j ON j.task_id = t.id AND {counted.COUNTED}
), unit AS (
    SELECT version, task, count(*) FILTER (WHERE failed) AS weight,
           max(submitted_at) FILTER (WHERE failed) AS newest, jsonb_build_object(
               'n_failed', count(*) FILTER (WHERE failed), 'n', count(*)) AS evidence
    FROM judged GROUP BY version, task HAVING count(*) FILTER (WHERE failed) >= %(min_raters)s
), {STRONGEST_EVIDENCE}
"""


def codes_query(study: Study, rule: FlagRule) -> RuleQuery | None:
    codes = rule["codes"] or tuple(
        dict.fromkeys(
            code for version in _protocol_versions(study) for code in load_protocol(version).spec.code_keys
        )
    )
    return RuleQuery(_CODES_SQL, {"codes": list(codes), "min_raters": rule["min_raters"]}) if codes else None


def disagreement_query(study: Study, rule: FlagRule) -> RuleQuery | None:
    most: dict[str, int] = {}  # candidates of a ranking

    def is_measured(protocol: Protocol, spec: QuestionSpec) -> bool:
        most[spec.key] = max(most.get(spec.key, 2), protocol.candidates[1])
        return bool(spec.level)

    questions = comparable_questions(study, is_measured)
    if not questions:
        return None
    numbers = {name: rule[name] for name in ("variance", "min_ratings", "minority", "min_votes")}
    stretch = [_stretch(spec, most[spec.key]) for _, spec in questions]
    return RuleQuery(_DISAGREEMENT_SQL, {**_question_columns(questions), "stretch": stretch, **numbers})


def _stretch(spec: QuestionSpec, most_candidates: int) -> float | None:
    """What a difference is worth on a scale from 1 to 5; None where answers are names, which are counted."""
    if spec.level == "nominal" or spec.kind == "choice":
        return None
    if spec.kind == "ranking":
        return _scale_factor(1, most_candidates)
    return _scale_factor(*scale_range(spec))


def low_confidence_query(study: Study, rule: FlagRule) -> RuleQuery | None:
    questions = comparable_questions(study, lambda _, spec: spec.confidence is not None)
    if not questions:
        return None
    scales = [spec.confidence.values for _, spec in questions if spec.confidence]
    return RuleQuery(
        _LOW_CONFIDENCE_SQL,
        {
            **_question_columns(questions),
            "stretch": [_scale_factor(min(values), max(values)) for values in scales],
            "lowest": [min(values) for values in scales],
            "confidence": rule["confidence"],
            "min_answers": rule["min_answers"],
        },
    )


def failed_gold_query(study: Study, rule: FlagRule) -> RuleQuery:
    return RuleQuery(_FAILED_GOLD_SQL, {"min_raters": rule["min_raters"]})


def _protocol_versions(study: Study) -> list[int]:
    """The newest first."""
    return list(ProtocolVersion.objects.filter(study=study).order_by("-number").values_list("pk", flat=True))


def comparable_questions(
    study: Study, wanted: Callable[[Protocol, QuestionSpec], bool]
) -> list[tuple[int, QuestionSpec]]:
    """The rows of the questions wanted, as the newest version asks each; earlier ones only where the scale is the same,
    for their answers are not comparable otherwise."""
    newest: dict[str, QuestionSpec] = {}
    questions = []
    for version in _protocol_versions(study):
        protocol = load_protocol(version)
        for spec in protocol.spec.questions:
            if wanted(protocol.spec, spec) and _same_scale(newest.setdefault(spec.key, spec), spec):
                questions.append((protocol.question_ids[spec.key], spec))
    return questions


def _same_scale(newest: QuestionSpec, other: QuestionSpec) -> bool:
    confidence = [spec.confidence and spec.confidence.values for spec in (newest, other)]
    return is_same_scale(other, newest) and confidence[0] == confidence[1]


def _question_columns(questions: list[tuple[int, QuestionSpec]]) -> dict[str, Any]:
    return {"questions": [pk for pk, _ in questions], "keys": [spec.key for _, spec in questions]}


def scale_range(spec: QuestionSpec) -> tuple[float, float]:
    """The least and the greatest value of a rating."""
    if spec.minimum is not None and spec.maximum is not None:
        return spec.minimum, spec.maximum
    return min(spec.values), max(spec.values)


def _scale_factor(least: float, most: float) -> float:
    """What a difference on this scale is worth on one from 1 to 5."""
    return REFERENCE_RANGE / (most - least)


# Functions of (study, rule) that build a rule's query, or None where there is nothing to ask.
QueryBuilder = Callable[[Study, FlagRule], RuleQuery | None]
QUERY_BUILDERS: dict[str, QueryBuilder] = {
    flag_rules.Codes.key: codes_query,
    flag_rules.Disagreement.key: disagreement_query,
    flag_rules.LowConfidence.key: low_confidence_query,
    flag_rules.FailedGold.key: failed_gold_query,
    flag_rules.Unannotated.key: unannotated_query,
    flag_rules.Audit.key: audit_query,
}
