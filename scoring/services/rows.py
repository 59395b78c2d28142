"""Which rows a run has: everything the scorer reads in the chosen part of the study and has not scored yet."""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from annotation.models import Task
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Scorer, ScoringRun
from scoring.services import claims
from scoring.services.examples import NO_SOUND, NO_TEXT

_PREPARE_LOCK = 7_303_022
_TRY_ALONE = "SELECT pg_try_advisory_xact_lock(%s, %s)"
_TRY_TOGETHER = "SELECT pg_try_advisory_xact_lock_shared(%s, %s)"

# A clip is judged by the item's prompt; a text, by the item's clip. Who hears nothing reads the candidate itself, and
# who needs no text hears the candidate itself.
_SINGLE = """
SELECT c.id AS candidate, NULL::bigint AS other, sound.duration_s AS seconds,
       CASE WHEN c.clip_id IS NULL OR NOT %(hears)s THEN c.text ELSE v.prompt END AS text
FROM annotation_item i
JOIN annotation_itemversion v ON v.id = i.current_version_id
JOIN annotation_candidate c ON c.item_version_id = v.id
JOIN annotation_system s ON s.id = c.system_id
LEFT JOIN annotation_clip sound
    ON sound.id = coalesce(c.clip_id, CASE WHEN %(reads_text)s THEN v.clip_id END) AND %(hears)s
WHERE {chosen} AND ({systems} s.role = 'judged')
"""
# Each pair once, the candidate that was there first as the first: tasks may show it in either order.
_PAIR = """
SELECT DISTINCT c.id AS candidate, o.id AS other,
       CASE WHEN (c.clip_id IS NULL) <> (o.clip_id IS NULL) THEN NULL
            WHEN c.clip_id IS NULL THEN shared.duration_s ELSE first.duration_s + second.duration_s END AS seconds,
       CASE WHEN c.clip_id IS NOT NULL THEN v.prompt
            WHEN btrim(c.text) = '' OR btrim(o.text) = '' THEN '' ELSE c.text END AS text
FROM annotation_item i
JOIN annotation_itemversion v ON v.id = i.current_version_id
JOIN annotation_task t ON t.item_version_id = v.id AND t.study_id = i.study_id AND t.state <> %(withdrawn)s
JOIN LATERAL (SELECT min(k.candidate_id) AS a, max(k.candidate_id) AS b, count(*) AS n
              FROM annotation_taskcandidate k WHERE k.task_id = t.id) pair ON pair.n = 2 AND pair.a <> pair.b
JOIN annotation_candidate c ON c.id = pair.a
JOIN annotation_candidate o ON o.id = pair.b
JOIN annotation_system s ON s.id = c.system_id
JOIN annotation_system r ON r.id = o.system_id
LEFT JOIN annotation_clip first ON first.id = c.clip_id
LEFT JOIN annotation_clip second ON second.id = o.clip_id
LEFT JOIN annotation_clip shared ON shared.id = v.clip_id
WHERE {chosen} AND ({systems} s.role = 'judged' AND r.role = 'judged')
"""
READ = {Reads.SINGLE: _SINGLE, Reads.PAIR: _PAIR}

_INSERT = """
WITH made AS (
    INSERT INTO scoring_scoringrow (run_id, candidate_id, other_id, length, state, attempts, fault, reason)
    SELECT %(run)s, read.candidate, read.other, coalesce(read.seconds, length(read.text)),
           CASE WHEN read.lacks = '' THEN 1 ELSE 4 END, 0, read.lacks,
           CASE read.lacks WHEN 'no_sound' THEN %(no_sound)s WHEN 'no_text' THEN %(no_text)s ELSE '' END
    FROM (
        SELECT part.*, CASE WHEN %(hears)s AND part.seconds IS NULL THEN 'no_sound'
                            WHEN %(reads_text)s AND btrim(part.text) = '' THEN 'no_text' ELSE '' END AS lacks
        FROM ({read}) part
    ) read
    WHERE %(again)s OR NOT EXISTS (
        SELECT FROM scoring_score x WHERE x.scorer_id = %(scorer)s AND x.candidate_id = read.candidate
        AND x.other_id IS NOT DISTINCT FROM read.other)
    RETURNING state
)
SELECT count(*), count(*) FILTER (WHERE state = 4) FROM made
"""


@transaction.atomic
def prepare(run: ScoringRun, scorer: Scorer) -> bool:
    """Give a run its scorer and its rows, once, and set it to work; False when somebody else did, or it is over. What
    lacks a sound or a text fails at once."""
    with connection.cursor() as cursor:
        # Not by the run's own row: a large study takes seconds, and cancelling must not wait for them.
        cursor.execute(_TRY_ALONE, [_PREPARE_LOCK, run.pk])
        if not cursor.fetchone()[0] or ScoringRun.objects.filter(pk=run.pk, scorer__isnull=False).exists():
            return False
        read, values = reading(run)
        values |= {"run": run.pk, "scorer": scorer.pk, "again": run.again}
        values |= {"no_sound": NO_SOUND, "no_text": NO_TEXT}
        cursor.execute(_INSERT.replace("{read}", read), values)
        n_rows, n_failed = cursor.fetchone()
    wanted = ScoringRun.objects.filter(pk=run.pk, scorer=None, state__in=ScoringRun.UNFINISHED)
    # Running, since a queued run that has rows is one to be retried.
    begun = {"state": ScoringRun.State.RUNNING, "scorer": scorer, "n_rows": n_rows, "n_failed": n_failed}
    if not wanted.update(**begun):
        transaction.set_rollback(True)  # cancelled meanwhile
        return False
    claims.finish_if_settled(run.pk)
    run.refresh_from_db()
    return True


def keep_unprepared(run: ScoringRun) -> bool:
    """Let a run look for its rows only after this transaction, whose rows it then finds; False when it has begun to
    look, or is over."""
    with connection.cursor() as cursor:
        cursor.execute(_TRY_TOGETHER, [_PREPARE_LOCK, run.pk])
        if not cursor.fetchone()[0]:
            return False
    queued = ScoringRun.objects.filter(pk=run.pk, scorer=None, state=ScoringRun.State.QUEUED)
    return queued.exists()


def reading(run: ScoringRun) -> tuple[str, dict[str, Any]]:
    """A query for (candidate, other, seconds, text) of all that a run's scorer reads in its part of the study."""
    part = run.filter
    chosen, values = ["i.study_id = %(study)s", "i.state = 'active'"], {"study": run.study_id}
    if "items" in part:
        chosen.append("i.external_id = ANY(%(items)s)")
    for number, (key, wanted) in enumerate(part.get("strata", {}).items()):
        chosen.append(f"i.strata ->> %(key{number})s = ANY(%(values{number})s)")
        values |= {f"key{number}": key, f"values{number}": wanted}
    entry = registry.entry(run.metric)
    reads = entry.reads
    values |= {"hears": entry.hears, "reads_text": entry.reads_text}
    systems = "s.name = ANY(%(systems)s) AND " if "systems" in part else ""
    if systems and reads is Reads.PAIR:
        systems += "r.name = ANY(%(systems)s) AND "
    values |= {name: part[name] for name in ("systems", "items") if name in part}
    values |= {"withdrawn": Task.State.WITHDRAWN.value} if reads is Reads.PAIR else {}
    return READ[reads].format(chosen=" AND ".join(chosen), systems=systems), values
