"""Which tasks come first: a study's policy, its versions, and the priorities that it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db import connection, transaction

from annotation import audit
from annotation.errors import FieldProblem, InvalidInput
from annotation.models import OrderingPolicy, Study, User
from annotation.rules import ordering as rules

# So few at a time that a rater who submits a vote meanwhile waits for milliseconds, if at all.
_CHUNK = 500

_WRITE = """
WITH wanted AS (
    SELECT * FROM unnest(%(tasks)s::bigint[], %(priorities)s::float8[]) AS w (id, priority)
), locked AS (
    SELECT t.id, wanted.priority FROM annotation_task t JOIN wanted USING (id)
    WHERE t.study_id = %(study)s AND t.priority <> wanted.priority ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE annotation_task t SET priority = locked.priority FROM locked WHERE t.id = locked.id
"""


@transaction.atomic
def set_rule(study: Study, *, actor: User | None, on: bool = True, **wanted: Any) -> Study:
    """Switch the policy on, or off, and change some of its settings; what is not named stays as it is in force. Other
    settings are another version. Raises InvalidInput with every fault, and changes nothing then."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    before = study.rules.get("ordering", {})
    then = {**asdict(rules.Ordering()), **before, **wanted}
    _refuse_faults(study, then, on=on)
    stored = then if on else {}
    if stored == before:
        return study
    study.rules = {**study.rules, "ordering": stored}
    study.save(update_fields=["rules"])
    if on:
        _version(study, made_from=None)
    shown = {
        name: [before.get(name), stored.get(name)] for name in then if before.get(name) != stored.get(name)
    }
    audit.record("study.changed", actor=actor, study=study, ordering=shown)
    return study


def policy_of(study: Study) -> OrderingPolicy | None:
    """The version in force; None where tasks come in a plain order."""
    return _newest(study) if study.rules.get("ordering") else None


def set_priorities(study: Study, priorities: Mapping[int, float], *, made_from: str = "") -> int:
    """Store what a vote on each of these tasks would teach, a few tasks at a time. Returns how many have changed.

    `made_from` names the model behind the numbers. Another one begins another version, before the first of them is
    stored: a draw meanwhile goes by the priorities as they stand, and the chance stored with it is of these.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.rules.get("ordering"):
            _version(locked, made_from=made_from)
    ids, changed = sorted(priorities), 0
    for start in range(0, len(ids), _CHUNK):
        some = ids[start : start + _CHUNK]
        values: dict[str, Any] = {
            "study": study.pk, "tasks": some, "priorities": [priorities[pk] for pk in some],
        }  # fmt: skip
        with transaction.atomic(), connection.cursor() as cursor:
            # What a crash loses is reckoned again: nobody has to wait for the disk.
            cursor.execute("SET LOCAL synchronous_commit TO off")
            cursor.execute(_WRITE, values)
            changed += cursor.rowcount
    return changed


def _version(study: Study, *, made_from: str | None) -> OrderingPolicy:
    """The version of the study's settings and this source of priorities (None: the one before's), a new one where the
    newest is another. The caller holds the study's lock."""
    newest = _newest(study)
    source = (newest.made_from if newest else "") if made_from is None else made_from
    stated = study.rules["ordering"]
    if newest is not None and (newest.settings, newest.made_from) == (stated, source):
        return newest
    number = newest.number + 1 if newest else 1
    return OrderingPolicy.objects.create(study=study, number=number, settings=stated, made_from=source)


def _newest(study: Study) -> OrderingPolicy | None:
    return OrderingPolicy.objects.filter(study=study).order_by("-number").first()


def _refuse_faults(study: Study, wanted: dict[str, Any], *, on: bool) -> None:
    problems = [FieldProblem(fault.field, fault.message) for fault in rules.faults(wanted)]
    if on and study.order == Study.Order.LISTED:
        message = "The tasks of this study come as they are listed, for everybody."
        problems.append(FieldProblem("on", message, "Make a study whose tasks are shuffled."))
    if problems:
        raise InvalidInput("These settings cannot be used.", problems=problems)
