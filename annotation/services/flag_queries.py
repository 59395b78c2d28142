"""What the flag rules find in the database: one statement per rule, whatever the size of the study.

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
from django.utils.module_loading import import_string

from annotation.models import Judgment, Study, Task
from annotation.rules import flag_rules
from annotation.rules.flag_rules import FlagRule
from annotation.services.case_opening import Found

_MOST_TASKS = 20


@dataclass(frozen=True)
class Query:
    """Common table expressions that end with `found (version, task, newest, evidence)`, at most one row per version.

    They may use `scope (version, item)`. `newest`: when the last of the votes was given that the finding rests on.
    """

    ctes: str
    params: Mapping[str, Any] = field(default_factory=dict)


# Dotted names of functions of (study, rule) that build a rule's query, or None where there is nothing to ask.
BUILDERS = {
    flag_rules.CODES: "annotation.services.flags_by_votes.codes",
    flag_rules.DISAGREEMENT: "annotation.services.flags_by_votes.disagreement",
    flag_rules.LOW_CONFIDENCE: "annotation.services.flags_by_votes.low_confidence",
    flag_rules.FAILED_GOLD: "annotation.services.flags_by_votes.failed_gold",
    flag_rules.UNANNOTATED: "annotation.services.flags_by_state.unannotated",
    flag_rules.AUDIT: "annotation.services.flags_by_state.audit",
}

# A judgment that counts, of a task `t` that is asked of everybody: the same as in analytics.
STANDING = f"j.effective AND NOT j.excluded AND NOT j.surplus AND j.origin <> {Judgment.Origin.EXPERT:d}"
REGULAR = f"t.kind = {Task.Kind.REGULAR:d}"

# The evidence of the unit that says most, with the tasks that say it, that one first. `unit (version, task, weight,
# newest, evidence)` comes before it.
STRONGEST = f"""
found AS (
    SELECT version, (array_agg(task ORDER BY weight DESC, task))[1] AS task, max(newest) AS newest,
           (array_agg(evidence ORDER BY weight DESC, task))[1] || jsonb_build_object(
               'tasks', to_jsonb((array_agg(task ORDER BY weight DESC, task))[1:{_MOST_TASKS}])) AS evidence
    FROM unit GROUP BY version
)
"""

_SCOPE = """
WITH scope AS (
    SELECT v.id AS version, i.id AS item
    FROM annotation_item i JOIN annotation_itemversion v ON v.id = i.current_version_id
    WHERE i.study_id = %(study)s AND i.state = 'active' AND NOT v.retracted {some}
),
"""
_SOME = "AND v.id = ANY(%(versions)s)"

# A rule fires once for a version; again only on votes that came after the case was resolved.
_FIRES = """
NOT EXISTS (SELECT 1 FROM annotation_reviewcase c JOIN annotation_casereason r ON r.case_id = c.id
            WHERE c.item_version_id = found.version AND c.state <> 'resolved' AND r.rule = %(rule)s)
AND NOT EXISTS (SELECT 1 FROM annotation_reviewcase c
                WHERE c.item_version_id = found.version AND c.state = 'resolved'
                  AND (found.newest IS NULL OR c.resolved_at >= found.newest))
"""

_NEW = f"SELECT version, task, newest, evidence FROM found WHERE {_FIRES} ORDER BY version"

_COUNTED = """
SELECT count(*), count(*) FILTER (WHERE new),
       array(SELECT i.external_id FROM counted JOIN annotation_item i ON i.id = counted.item
             ORDER BY NOT new, i.id LIMIT %(examples)s)
FROM counted
"""


def build(study: Study, rule: FlagRule) -> Query | None:
    builder: Callable[[Study, FlagRule], Query | None] = import_string(BUILDERS[rule.key])
    return builder(study, rule)


def new(study: Study, rule: FlagRule, query: Query, *, versions: Sequence[int] | None) -> list[Found]:
    """What the rule finds about these versions (all current ones for None) and has not said of them yet."""
    params = {"study": study.pk, "rule": rule.key, "versions": list(versions or ()), **query.params}
    scope = _SCOPE.format(some="" if versions is None else _SOME)
    with connection.cursor() as cursor:
        cursor.execute(scope + query.ctes + _NEW, params)
        rows = cursor.fetchall()
    return [_found(rule, *row) for row in rows]


def count(study: Study, rule: FlagRule, query: Query, *, examples: int) -> tuple[int, int, list[str]]:
    """Of the whole study: how many items the rule finds, how many of them it has not said, and the names of a few."""
    counted = f", counted AS (SELECT item, {_FIRES} AS new FROM found JOIN scope USING (version))"
    sql = _SCOPE.format(some="") + query.ctes + counted + _COUNTED
    with connection.cursor() as cursor:
        cursor.execute(sql, {"study": study.pk, "rule": rule.key, "examples": examples, **query.params})
        n_items, n_new, names = cursor.fetchone()
        return n_items, n_new, names


def _found(rule: FlagRule, version: int, task: int | None, newest: datetime | None, said: str) -> Found:
    evidence: dict[str, Any] = json.loads(said)
    if "tasks" in evidence:  # one task may have fired by several questions
        evidence["tasks"] = list(dict.fromkeys(evidence["tasks"]))
    evidence["strength"] = round(flag_rules.strength(rule, evidence), 4)
    return Found(version, task, newest, evidence, flag_rules.weight_of(rule, evidence))
