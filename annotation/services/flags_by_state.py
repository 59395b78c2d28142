"""Rules that read how far an item has come: nobody annotated it, or it is complete and drawn for an audit."""

from __future__ import annotations

from annotation.models import Assignment, Study, Task
from annotation.rules.flag_rules import AUDIT_DIGITS, AUDIT_NAME, FlagRule
from annotation.services.flag_queries import Query

# Items without a vote, where the study has stopped asking, or several raters have declined to judge.
_UNANNOTATED = f"""
bare AS (
    SELECT scope.version, min(t.id) AS first, count(t.id) AS n_tasks
    FROM scope LEFT JOIN annotation_task t ON t.item_version_id = scope.version
    GROUP BY scope.version HAVING coalesce(sum(t.n_judgments), 0) = 0
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
_AUDIT = f"""
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


def unannotated(study: Study, rule: FlagRule) -> Query:
    stopped = study.state in (Study.State.PAUSED, Study.State.CLOSED)
    return Query(_UNANNOTATED, {"stopped": stopped, "state": study.state, "min_skips": rule["min_skips"]})


def audit(study: Study, rule: FlagRule) -> Query:
    return Query(_AUDIT, {"seed": str(study.seed), "share": rule["share"]})
