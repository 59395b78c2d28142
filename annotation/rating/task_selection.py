"""Task selection: the next task of a rater's queue, or one drawn by the study's active-learning policy, locked.

No statement here waits for a task (SKIP LOCKED). A draw whose task another rater is taking at that very moment is made
anew, so the tasks that are free keep their chances relative to each other; what is stored is the chance in one draw.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection, transaction

from annotation.access import RaterAtWork
from annotation.errors import FieldProblem
from annotation.models import OrderingPolicy, Study, User
from annotation.rating import content_sql, overlap
from annotation.rating.rules import ordering
from annotation.rating.rules.ordering import WINDOW, Coin, Ordering, TasksBehind
from annotation.studies.settings import all_values
from annotation.studies.stored_settings import lock_study, save_settings

# A rater has met a task when an assignment of theirs is open, submitted or skipped: the same three states as in the
# unique index that answers this question. The question is put task by task: as a join PostgreSQL may bring in all
# that the rater has ever met.
UNMET = """(SELECT 1 FROM annotation_assignment a
                  WHERE a.task_id = t.id AND a.rater_id = %(rater)s AND a.state IN (1, 2, 3) LIMIT 1) IS NULL
  AND (SELECT 1 FROM annotation_barredrater b WHERE b.task_id = t.id AND b.rater_id = %(rater)s LIMIT 1) IS NULL"""
OPEN = "t.study_id = %(study)s AND t.wants_more"

# Of a task open to a rater whose batch has enough of some strata (`PanelLink.stratum_quotas`).
_OUTSIDE_FULL_STRATA = """ AND NOT EXISTS (
    SELECT 1 FROM annotation_itemversion v JOIN annotation_item i ON i.id = v.item_id
    WHERE v.id = t.item_version_id AND i.strata @> ANY(%(full_strata)s::jsonb[]))"""

N_CANDIDATES = "(SELECT count(*) FROM annotation_taskcandidate c WHERE c.task_id = t.id)"

NEXT_IN_QUEUE = f"""
SELECT t.id, t.shuffle_key, t.order_balance, t.n_draws, {N_CANDIDATES}
FROM annotation_task t
WHERE {OPEN} AND t.shuffle_key > %(after)s AND t.shuffle_key <= %(until)s
  AND {UNMET}
ORDER BY t.shuffle_key
LIMIT 1"""
_LOCK = "\nFOR UPDATE OF t SKIP LOCKED"

# How many open tasks are looked through for the first ones: a rater who has met thousands of them does not wait.
_LOOK_THROUGH = 4096

# The limits are written out: of one that is bound later PostgreSQL plans as for a tenth of all tasks.
_HIGHEST_PRIORITY = f"""
WITH first AS MATERIALIZED (
    SELECT ARRAY(
        SELECT t.id
        FROM (SELECT t.id, t.priority, t.shuffle_key FROM annotation_task t WHERE {OPEN}
              ORDER BY t.priority DESC, t.shuffle_key LIMIT {_LOOK_THROUGH}) AS t
        WHERE {UNMET}
        ORDER BY t.priority DESC, t.shuffle_key LIMIT {{among}}) AS ids
)"""

_ONE_OF_HIGHEST_PRIORITY = """, chosen AS (
    SELECT ids[1 + floor(%(place)s::float8 * cardinality(ids))::int] AS id FROM first
)"""

_UNIFORM = f""", ahead AS MATERIALIZED (
    SELECT ARRAY(SELECT t.id FROM annotation_task t WHERE {OPEN} AND t.shuffle_key > %(place)s AND {UNMET}
                 ORDER BY t.shuffle_key LIMIT {WINDOW}) AS ids
), around AS MATERIALIZED (
    SELECT (ids || CASE WHEN cardinality(ids) < {WINDOW} THEN ARRAY(
        SELECT t.id FROM annotation_task t WHERE {OPEN} AND t.shuffle_key <= %(place)s AND {UNMET}
        ORDER BY t.shuffle_key LIMIT {WINDOW}) ELSE '{{}}' END)[1:{WINDOW}] AS ids
    FROM ahead
), chosen AS (
    SELECT ids[1 + floor(%(within)s::float8 * cardinality(ids))::int] AS id FROM around
)"""

_NEXT_UNLOCKED = f""", chosen AS (
    SELECT t.id FROM annotation_task t
    WHERE {OPEN} AND t.shuffle_key > %(after)s AND t.shuffle_key <= %(until)s AND {UNMET}
    ORDER BY t.shuffle_key LIMIT 1 FOR UPDATE OF t SKIP LOCKED
)"""

_SELECT_AND_LOCK = f""", picked AS MATERIALIZED (
    SELECT t.id, t.shuffle_key, t.order_balance, t.n_draws FROM annotation_task t
    WHERE t.id = (SELECT id FROM chosen) AND t.wants_more
    FOR UPDATE OF t SKIP LOCKED
)
SELECT EXISTS (SELECT FROM chosen WHERE id IS NOT NULL), cardinality(first.ids), p.id = ANY(first.ids),
       before.n, before.key, beyond.n, beyond.key, p.id, p.shuffle_key, p.order_balance, p.n_draws,
       (SELECT count(*) FROM annotation_taskcandidate c WHERE c.task_id = p.id)
FROM first LEFT JOIN picked p ON true
LEFT JOIN LATERAL (
    SELECT count(*)::int AS n, min(t.shuffle_key) AS key
    FROM (SELECT t.shuffle_key FROM annotation_task t
          WHERE {OPEN} AND t.shuffle_key < p.shuffle_key AND {UNMET}
          ORDER BY t.shuffle_key DESC LIMIT {WINDOW}) AS t
) AS before ON true
LEFT JOIN LATERAL (
    SELECT count(*)::int AS n, min(t.shuffle_key) AS key
    FROM (SELECT t.shuffle_key FROM annotation_task t
          WHERE before.n < {WINDOW} AND {OPEN} AND t.shuffle_key >= p.shuffle_key AND {UNMET}
          ORDER BY t.shuffle_key DESC LIMIT {WINDOW} - before.n) AS t
) AS beyond ON true
"""


@dataclass(frozen=True)
class PickedTask:
    """A task, locked, and where a policy drew it: which version, and the chance that it had."""

    task_id: int
    shuffle_key: float
    order_balance: int
    n_draws: int
    n_candidates: int
    policy_id: int | None = None
    inclusion_probability: float | None = None
    # How many times the rater meets it with this one: of training tasks, the run.
    pass_number: int = 1
    # The order in which it is shown, where that is not drawn like any other.
    presentation: list[int] | None = None
    # What `content_sql.with_content` adds to the row, where that was read too.
    content: Sequence[Any] | None = None


def pick_task(
    rater: RaterAtWork, *, assignment: uuid.UUID, lock: bool = True, with_content: bool = False
) -> PickedTask | None:
    """The task for an assignment that is to be made; None where no more are open to this rater.

    Without `lock`, for whoever locks and compares the task in the next statement: a lock that ends with its own
    statement guards nothing, and costs a commit on disk. A policy reads no content, and always locks.
    """
    return (
        _next_in_queue(rater, lock=lock, with_content=with_content)
        if rater.ordering is None
        else _draw_by_policy(rater, rater.ordering, assignment)
    )


def _next_in_queue(rater: RaterAtWork, *, lock: bool, with_content: bool) -> PickedTask | None:
    """The first open task after the rater's cursor that they have not met; from the beginning when none is left."""
    statement = open_to(rater, NEXT_IN_QUEUE) + (_LOCK if lock else "")
    if with_content:
        statement = content_sql.with_content(statement)
    for span in _queue_laps(rater.cursor):
        with connection.cursor() as cursor:
            cursor.execute(statement, {**rater_params(rater), **span})
            row = cursor.fetchone()
        if row is not None:
            task, shuffle_key, balance, n_draws, n_candidates, *content = row
            return PickedTask(task, shuffle_key, balance, n_draws, n_candidates, content=content or None)
    return None


def _draw_by_policy(rater: RaterAtWork, policy: Ordering, assignment: uuid.UUID) -> PickedTask | None:
    for coin in ordering.draw_coins(rater.seed, assignment):
        drawn, picked = _draw_once(rater, policy, coin)
        if picked or not drawn:
            return picked
    # Whoever asked had bad luck, or almost all that is left is being taken: then any that is free.
    for span in _queue_laps(rater.cursor):
        if picked := _select_and_lock(rater, policy, _NEXT_UNLOCKED, **span)[1]:
            return picked
    return None


def _draw_once(rater: RaterAtWork, policy: Ordering, coin: Coin) -> tuple[bool, PickedTask | None]:
    """Whether anything was drawn, and what, unless another is taking it."""
    if not coin.is_uniform(policy):
        drawn, picked = _select_and_lock(rater, policy, _ONE_OF_HIGHEST_PRIORITY, place=coin.place)
        if drawn:
            return drawn, picked
    return _select_and_lock(rater, policy, _UNIFORM, place=coin.place, within=coin.within(policy))


def _select_and_lock(
    rater: RaterAtWork, policy: Ordering, choose: str, **where: float
) -> tuple[bool, PickedTask | None]:
    with connection.cursor() as cursor:
        statement = open_to(rater, _statement(choose, policy.among))
        cursor.execute(statement, {**rater_params(rater), **where})
        row: tuple[Any, ...] = cursor.fetchone()
    drawn, n_first, is_first, task = row[0], row[1], row[2], row[7:]
    if task[0] is None:
        return drawn, None
    uniform = ordering.uniform_probability(task[1], TasksBehind(*row[3:7]))
    chance = ordering.inclusion_probability(policy, n_first=n_first, is_first=is_first, uniform=uniform)
    return True, PickedTask(*(*task, rater.policy_id, chance))


@cache
def _statement(choose: str, among: int) -> str:
    return _HIGHEST_PRIORITY.format(among=among) + choose + _SELECT_AND_LOCK


def open_to(rater: RaterAtWork, statement: str) -> str:
    """The same statement where nothing is `OPEN` that is in a stratum of which the rater's batch has enough."""
    return statement.replace(OPEN, OPEN + _OUTSIDE_FULL_STRATA) if rater.full_strata else statement


def rater_params(rater: RaterAtWork) -> dict[str, Any]:
    """What `OPEN`, `UNMET` and `open_to` need."""
    return {"study": rater.study_id, "rater": rater.rater_id, "full_strata": rater.full_strata}


def _queue_laps(cursor: float) -> tuple[dict[str, float], ...]:
    """Round the circle, from the rater's place on it."""
    return {"after": cursor, "until": float("inf")}, {"after": ordering.START_OF_LIST, "until": cursor}


# ── Policy versions and priorities ─────────────────────────────────────────────


# So few at a time that a rater who submits a vote meanwhile waits for milliseconds, if at all.
_CHUNK = 500


@transaction.atomic
def set_ordering(study: Study, *, actor: User | None, on: bool = True, **settings: Any) -> Study:
    """Switch the policy on or off, and change some of its settings; the others stay as they are in force. Other
    settings are another version. Raises InvalidInput with every problem, and changes nothing then."""
    study = lock_study(study)
    before = study.rules.get("ordering", {})
    after = {**all_values(Ordering, before), **settings}
    problems = ordering.validate_ordering(after)
    if on and study.order == Study.Order.LISTED:
        message = "This study presents its tasks in the listed order, to every rater."
        problems.append(FieldProblem("on", message, "Make a study whose tasks are shuffled."))
    changes = save_settings(
        study, "ordering", actor=actor, before=before, after=after if on else {}, problems=problems
    )
    if changes and on:
        _policy_version(study, made_from=None)
    return study


def ordering_policy_of(study: Study) -> OrderingPolicy | None:
    """The version in force; None where tasks come in a plain order."""
    return _newest_policy(study) if study.rules.get("ordering") else None


def set_priorities(study: Study, priorities: Mapping[int, float], *, made_from: str = "") -> int:
    """Store what a vote on each of these tasks would teach, a few tasks at a time. Returns how many have changed.

    `made_from` names the model behind the numbers. Another one begins another version, before the first of them is
    stored: a draw meanwhile goes by the priorities as they stand, and the chance stored with it is of these.
    """
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if locked.rules.get("ordering"):
            _policy_version(locked, made_from=made_from)
    return overlap.update_column(study, "priority", priorities, type="float8", chunk=_CHUNK)


def _policy_version(study: Study, *, made_from: str | None) -> OrderingPolicy:
    """The version of the study's settings and this source of priorities (None: the one before's), a new one where the
    newest is another. The caller holds the study's lock."""
    newest = _newest_policy(study)
    source = (newest.made_from if newest else "") if made_from is None else made_from
    stored_settings = study.rules["ordering"]
    if newest is not None and (newest.settings, newest.made_from) == (stored_settings, source):
        return newest
    number = newest.number + 1 if newest else 1
    return OrderingPolicy.objects.create(
        study=study, number=number, settings=stored_settings, made_from=source
    )


def _newest_policy(study: Study) -> OrderingPolicy | None:
    return OrderingPolicy.objects.filter(study=study).order_by("-number").first()
