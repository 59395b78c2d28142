"""Cases made of what rules found, many at a time.

Several of these may run at once, beside experts who resolve the very cases: nothing is opened for a version that is no
longer its item's, and nothing again for votes that an expert has dealt with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from annotation.models import CaseEvent, CaseReason, User
from annotation.services import case_events


@dataclass(frozen=True)
class Found:
    """What a rule found about a version: on which task most of all, on votes how recent (None: it rests on none), the
    evidence, and how much it adds to the priority."""

    version_id: int
    task_id: int | None
    newest: datetime | None
    evidence: dict[str, Any]
    weight: float = 0.0


@dataclass(frozen=True)
class Opened:
    n_opened: int
    n_added: int


# FOR SHARE waits for whoever is correcting or withdrawing the item, and then looks again. The last condition, too,
# is asked anew: a case may have been resolved since the rule looked.
_OPEN = """
INSERT INTO annotation_reviewcase
    (study_id, item_id, item_version_id, task_id, state, decision, priority, rules, n_returns, comment, created_at)
SELECT i.study_id, i.id, f.version, f.task, 'open', '', f.weight, ARRAY[%(rule)s::varchar], 0, '', %(now)s
FROM unnest(%(versions)s::bigint[], %(tasks)s::bigint[], %(newest)s::timestamptz[], %(weights)s::float8[])
    AS f (version, task, newest, weight)
JOIN annotation_item i ON i.current_version_id = f.version AND i.state = 'active'
WHERE NOT EXISTS (
    SELECT 1 FROM annotation_reviewcase c WHERE c.item_version_id = f.version
      AND (c.state <> 'resolved' OR f.newest IS NULL OR c.resolved_at >= f.newest))
ORDER BY i.id
FOR SHARE OF i
ON CONFLICT (item_version_id) WHERE NOT (state = 'resolved') DO NOTHING
RETURNING id, item_version_id
"""

_UNRESOLVED = """
SELECT id, item_version_id FROM annotation_reviewcase
WHERE item_version_id = ANY(%(versions)s) AND state <> 'resolved'
ORDER BY id
FOR NO KEY UPDATE
"""

_ADD_REASONS = """
INSERT INTO annotation_casereason (case_id, rule, evidence, fired_at)
SELECT r.id, %(rule)s, r.evidence, %(now)s
FROM unnest(%(cases)s::bigint[], %(evidence)s::jsonb[]) AS r (id, evidence)
ON CONFLICT (case_id, rule) DO NOTHING
RETURNING case_id
"""

# What the expert has judged, or is judging, stays the case's task.
_RAISE = """
UPDATE annotation_reviewcase c
SET rules = array_append(c.rules, %(rule)s::varchar), priority = c.priority + r.weight,
    task_id = CASE WHEN c.state = 'open' THEN coalesce(c.task_id, r.task) ELSE c.task_id END
FROM unnest(%(cases)s::bigint[], %(tasks)s::bigint[], %(weights)s::float8[]) AS r (id, task, weight)
WHERE c.id = r.id
"""


def open_all(rule: str, found: Sequence[Found], *, at: datetime, actor: User | None) -> Opened:
    """Open cases for what a rule found, and give it as a further reason to those that are open. Safe to repeat.

    Two transactions, so that nobody waits for an item while holding a case.
    """
    by_version = {one.version_id: one for one in found}
    opened = _open(rule, by_version, at=at, actor=actor)
    left = {version: one for version, one in by_version.items() if version not in opened}
    return Opened(len(opened), _add(rule, left, at=at, actor=actor))


@transaction.atomic
def _open(rule: str, found: dict[int, Found], *, at: datetime, actor: User | None) -> set[int]:
    values: dict[str, Any] = {
        "versions": list(found),
        "tasks": [one.task_id for one in found.values()],
        "newest": [one.newest for one in found.values()],
        "weights": [one.weight for one in found.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, {"rule": rule, "now": at, **values})
        cases: dict[int, int] = dict(cursor.fetchall())
    CaseReason.objects.bulk_create(
        CaseReason(case_id=case, rule=rule, evidence=found[version].evidence, fired_at=at)
        for case, version in cases.items()
    )
    case_events.record_all(cases, CaseEvent.Kind.OPENED, actor=actor, rule=rule)
    return set(cases.values())


@transaction.atomic
def _add(rule: str, found: dict[int, Found], *, at: datetime, actor: User | None) -> int:
    with connection.cursor() as cursor:
        cursor.execute(_UNRESOLVED, {"versions": list(found)})
        cases: dict[int, int] = dict(cursor.fetchall())
        evidence = [json.dumps(found[version].evidence) for version in cases.values()]
        reasons: dict[str, Any] = {"rule": rule, "now": at, "cases": list(cases), "evidence": evidence}
        cursor.execute(_ADD_REASONS, reasons)
        added = {case: found[cases[case]] for (case,) in cursor.fetchall()}
        raised: dict[str, Any] = {
            "cases": list(added),
            "tasks": [one.task_id for one in added.values()],
            "weights": [one.weight for one in added.values()],
        }
        cursor.execute(_RAISE, {"rule": rule, **raised})
    case_events.record_all(added, CaseEvent.Kind.FIRED, actor=actor, rule=rule)
    return len(added)
