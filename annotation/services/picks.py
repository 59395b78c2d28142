"""Which task a rater is given next, locked: the next one on their walk, or one drawn by the study's policy.

No statement here waits for a task (SKIP LOCKED). A draw whose task another rater is taking at that very moment is made
anew, so the tasks that are free keep their chances relative to each other; what is stored is the chance in one draw.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection

from annotation.at_work import RaterAtWork
from annotation.rules import ordering, queue
from annotation.rules.ordering import WINDOW, Behind, Coin, Ordering

# A rater has met a task when an assignment of theirs is open, submitted or skipped: the same three states as in the
# unique index that answers this question.
_UNMET = """NOT EXISTS (SELECT 1 FROM annotation_assignment a
                  WHERE a.task_id = t.id AND a.rater_id = %(rater)s AND a.state IN (1, 2, 3))
  AND NOT EXISTS (SELECT 1 FROM annotation_barredrater b WHERE b.task_id = t.id AND b.rater_id = %(rater)s)"""
# The same, asked task by task: as a join PostgreSQL may bring in all that the rater has ever met.
_UNMET_EACH = """(SELECT 1 FROM annotation_assignment a
                  WHERE a.task_id = t.id AND a.rater_id = %(rater)s AND a.state IN (1, 2, 3) LIMIT 1) IS NULL
  AND (SELECT 1 FROM annotation_barredrater b WHERE b.task_id = t.id AND b.rater_id = %(rater)s LIMIT 1) IS NULL"""
_OPEN = "t.study_id = %(study)s AND t.wants_more"

_N_CANDIDATES = "(SELECT count(*) FROM annotation_taskcandidate c WHERE c.task_id = t.id)"

WALK = f"""
SELECT t.id, t.shuffle_key, t.order_balance, t.n_draws, {_N_CANDIDATES}
FROM annotation_task t
WHERE {_OPEN} AND t.shuffle_key > %(after)s AND t.shuffle_key <= %(until)s
  AND {_UNMET}
ORDER BY t.shuffle_key
LIMIT 1
FOR UPDATE OF t SKIP LOCKED
"""

# How many open tasks are looked through for the first ones: a rater who has met thousands of them does not wait.
_LOOK_THROUGH = 4096

# The limits are written out: of one that is bound later PostgreSQL plans as for a tenth of all tasks.
_FIRST = f"""
WITH first AS MATERIALIZED (
    SELECT ARRAY(
        SELECT t.id
        FROM (SELECT t.id, t.priority, t.shuffle_key FROM annotation_task t WHERE {_OPEN}
              ORDER BY t.priority DESC, t.shuffle_key LIMIT {_LOOK_THROUGH}) AS t
        WHERE {_UNMET_EACH}
        ORDER BY t.priority DESC, t.shuffle_key LIMIT {{among}}) AS ids
)"""

_ONE_OF_THE_FIRST = """, chosen AS (
    SELECT ids[1 + floor(%(place)s::float8 * cardinality(ids))::int] AS id FROM first
)"""

_ANY = f""", ahead AS MATERIALIZED (
    SELECT ARRAY(SELECT t.id FROM annotation_task t WHERE {_OPEN} AND t.shuffle_key > %(place)s AND {_UNMET_EACH}
                 ORDER BY t.shuffle_key LIMIT {WINDOW}) AS ids
), around AS MATERIALIZED (
    SELECT (ids || CASE WHEN cardinality(ids) < {WINDOW} THEN ARRAY(
        SELECT t.id FROM annotation_task t WHERE {_OPEN} AND t.shuffle_key <= %(place)s AND {_UNMET_EACH}
        ORDER BY t.shuffle_key LIMIT {WINDOW}) ELSE '{{}}' END)[1:{WINDOW}] AS ids
    FROM ahead
), chosen AS (
    SELECT ids[1 + floor(%(within)s::float8 * cardinality(ids))::int] AS id FROM around
)"""

_ANY_UNLOCKED = f""", chosen AS (
    SELECT t.id FROM annotation_task t
    WHERE {_OPEN} AND t.shuffle_key > %(after)s AND t.shuffle_key <= %(until)s AND {_UNMET_EACH}
    ORDER BY t.shuffle_key LIMIT 1 FOR UPDATE OF t SKIP LOCKED
)"""

_TAKE = f""", picked AS MATERIALIZED (
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
          WHERE {_OPEN} AND t.shuffle_key < p.shuffle_key AND {_UNMET_EACH}
          ORDER BY t.shuffle_key DESC LIMIT {WINDOW}) AS t
) AS before ON true
LEFT JOIN LATERAL (
    SELECT count(*)::int AS n, min(t.shuffle_key) AS key
    FROM (SELECT t.shuffle_key FROM annotation_task t
          WHERE before.n < {WINDOW} AND {_OPEN} AND t.shuffle_key >= p.shuffle_key AND {_UNMET_EACH}
          ORDER BY t.shuffle_key DESC LIMIT {WINDOW} - before.n) AS t
) AS beyond ON true
"""


@dataclass(frozen=True)
class Picked:
    """A task, locked, and where a policy drew it: which version, and the chance that it had."""

    task_id: int
    shuffle_key: float
    order_balance: int
    n_draws: int
    n_candidates: int
    policy_id: int | None = None
    inclusion_probability: float | None = None


def pick(rater: RaterAtWork, *, assignment: uuid.UUID) -> Picked | None:
    """The task for an assignment that is to be made. None where no more are open to this rater."""
    return _walk(rater) if rater.ordering is None else _draw(rater, rater.ordering, assignment)


def _walk(rater: RaterAtWork) -> Picked | None:
    """The first open task after the rater's cursor that they have not met; from the beginning when none is left."""
    for span in _laps(rater.cursor):
        with connection.cursor() as cursor:
            cursor.execute(WALK, {**_who(rater), **span})
            row = cursor.fetchone()
        if row is not None:
            return Picked(*row)
    return None


def _draw(rater: RaterAtWork, policy: Ordering, assignment: uuid.UUID) -> Picked | None:
    for coin in ordering.coins(rater.seed, assignment):
        found, picked = _drawn(rater, policy, coin)
        if picked or not found:
            return picked
    # Whoever asked had bad luck, or almost all that is left is being taken: then any that is free.
    for span in _laps(rater.cursor):
        if picked := _taken(rater, policy, _ANY_UNLOCKED, **span)[1]:
            return picked
    return None


def _drawn(rater: RaterAtWork, policy: Ordering, coin: Coin) -> tuple[bool, Picked | None]:
    """Whether anything was drawn, and what, unless another is taking it."""
    if not coin.is_uniform(policy):
        found, picked = _taken(rater, policy, _ONE_OF_THE_FIRST, place=coin.place)
        if found:
            return found, picked
    return _taken(rater, policy, _ANY, place=coin.place, within=coin.within(policy))


def _taken(rater: RaterAtWork, policy: Ordering, choose: str, **where: float) -> tuple[bool, Picked | None]:
    with connection.cursor() as cursor:
        cursor.execute(_statement(choose, policy.among), {**_who(rater), **where})
        row: tuple[Any, ...] = cursor.fetchone()
    found, n_first, is_first, task = row[0], row[1], row[2], row[7:]
    if task[0] is None:
        return found, None
    uniform = ordering.uniform_chance(task[1], Behind(*row[3:7]))
    chance = ordering.chance(policy, n_first=n_first, is_first=is_first, uniform=uniform)
    return True, Picked(*(*task, rater.policy_id, chance))


@cache
def _statement(choose: str, among: int) -> str:
    return _FIRST.format(among=among) + choose + _TAKE


def _who(rater: RaterAtWork) -> dict[str, Any]:
    return {"study": rater.study_id, "rater": rater.rater_id}


def _laps(cursor: float) -> tuple[dict[str, float], ...]:
    """Round the circle, from the rater's place on it."""
    return {"after": cursor, "until": float("inf")}, {"after": queue.START_OF_LIST, "until": cursor}
