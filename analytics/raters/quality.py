"""Quality of raters, kept up to date behind the votes: rows are computed for raters of whom something changed, and for
those who judged the same tasks, never for a page that is looked at.

What changed since the last time is found by high-water marks (`annotation.jobs.sweeps`). Agreement with the rest
follows from sums that every row keeps (`analytics.statistics.raters.against_the_rest`), so it is exact although most
rows were not computed again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.utils import timezone

from analytics.browse.summaries import Freshness
from analytics.data.postgres import fetch_rows
from analytics.models import QualitySweep, RaterQuality
from analytics.raters import automation, figures
from analytics.raters.figures import ComparedQuestion, RaterFigures
from analytics.raters.rules import QualityRules
from analytics.statistics.arrays import FloatArray
from analytics.statistics.raters.against_the_rest import against_the_rest, most_likely_concentration
from annotation.advisory_locks import LockKey, session_lock
from annotation.jobs import sweeps, task_messages
from annotation.jobs.sweeps import SweepSource
from annotation.models import Judgment, Study, Task

# Raters computed in one go.
CHUNK = 200
# A page computes raters itself who have no more judgments than this together.
INLINE_JUDGMENTS = 6000
# A rater's row is computed again once this share of what it rests on has changed: what a vote costs is then bounded,
# however many judgments there are. What has waited longer is computed as far as so many judgments in one refresh go.
CHANGED_SHARE = 0.01
LONGEST_WAIT = timedelta(seconds=60)
OVERDUE_JUDGMENTS = 20_000
# Changes that no sweep source records are picked up after this time.
WHOLE_EVERY = timedelta(hours=24)
# An agreement that moves less than this because of others' votes stays as it stands.
LEAST_MOVE = 0.002

# Raters of a judgment, who is `own`, and others who answered to its task. Everybody meets the same checks: there only
# the rater changes, and at once.
_OF_JUDGMENTS = f"""
WITH changed AS (
    SELECT j.id, j.rater_id, j.task_id, t.kind FROM annotation_judgment j JOIN annotation_task t ON t.id = j.task_id
    {{of}}
)
SELECT c.rater_id, {{own}} FROM changed c WHERE c.rater_id IS NOT NULL GROUP BY c.rater_id
UNION ALL
SELECT o.rater_id, count(*)::float8 FROM changed c JOIN annotation_judgment o ON o.task_id = c.task_id
WHERE c.kind = {Task.Kind.REGULAR:d} AND o.rater_id IS NOT NULL AND o.rater_id IS DISTINCT FROM c.rater_id
GROUP BY o.rater_id
"""
_ALL = "'infinity'::float8"
SOURCES = {
    "judgments": SweepSource(
        highest="SELECT max(id) FROM annotation_judgment WHERE study_id = %(study)s",
        changed=_OF_JUDGMENTS.format(
            of="WHERE j.study_id = %(study)s AND j.id > %(low)s",
            own=f"CASE WHEN bool_or(c.kind <> {Task.Kind.REGULAR:d}) THEN {_ALL} ELSE count(*) END",
        ),
    ),
    "exclusions": SweepSource(
        highest="SELECT max(id) FROM annotation_exclusion WHERE study_id = %(study)s",
        changed=_OF_JUDGMENTS.format(
            of="JOIN annotation_exclusion e ON e.judgment_id = j.id WHERE e.study_id = %(study)s AND e.id > %(low)s",
            own=_ALL,
        ),
    ),
    "raters": SweepSource(
        highest="SELECT max(id) FROM annotation_rater WHERE study_id = %(study)s",
        changed=f"SELECT id, {_ALL} FROM annotation_rater WHERE study_id = %(study)s AND id > %(low)s",
    ),
    # States of raters, and what was done about their work.
    "audit": SweepSource(
        highest="SELECT max(id) FROM annotation_auditevent WHERE study_id = %(study)s",
        changed=f"SELECT r.id, {_ALL} FROM annotation_auditevent e"
        " JOIN annotation_rater r ON r.study_id = e.study_id AND r.pseudonym = e.subject"
        " WHERE e.study_id = %(study)s AND e.id > %(low)s AND e.action LIKE 'rater.%%'",
    ),
    "skips": SweepSource(
        highest="SELECT sum(n_skips) FROM annotation_rater WHERE study_id = %(study)s",
        changed=f"SELECT r.id, {_ALL} FROM annotation_rater r JOIN analytics_raterquality q ON q.rater_id = r.id"
        " WHERE r.study_id = %(study)s AND r.n_skips <> q.n_skips AND %(low)s IS NOT NULL",
    ),
}


@dataclass(frozen=True)
class Changes:
    """Since the last look: `rows` changed of what each rater's row rests on; infinite for what has to be seen at once.
    `due`: raters to compute now; `judgments`: how many these have."""

    rows: Mapping[int, float]
    due: tuple[int, ...]
    judgments: int


_STALE = """
SELECT r.id, r.n_judgments, q.n_judgments + q.n_excluded, coalesce(q.n_changes, 0),
       q.changed_at < now() - %(wait)s
FROM annotation_rater r LEFT JOIN analytics_raterquality q ON q.rater_id = r.id
WHERE r.study_id = %(study)s AND (r.id = ANY(%(changed)s) OR q.changed_at IS NOT NULL)
ORDER BY q.changed_at NULLS FIRST, r.id
"""


def _changes(study: Study, seen: Mapping[str, int]) -> Changes:
    rows: dict[int, float] = defaultdict(float)
    for rater, n in sweeps.changed_rows(study, SOURCES, seen):
        rows[rater] += n
    due, judgments, overdue = [], 0, 0
    for rater, n_own, n_computed, n_before, late in fetch_rows(
        _STALE, study=study.pk, changed=list(rows), wait=LONGEST_WAIT
    ):
        n = max(n_own, n_computed or 0)
        is_due = n_computed is None or rows.get(rater, 0) + n_before >= CHANGED_SHARE * n_computed
        if not is_due and late and overdue + n <= OVERDUE_JUDGMENTS:
            overdue += n
            is_due = True
        if is_due:
            due.append(rater)
            judgments += n
    return Changes(rows, tuple(due), judgments)


def freshen(study: Study) -> Freshness:
    """Bring the rows up to date where that takes no time; else wake a worker. For pages and lists that read."""
    mark = QualitySweep.objects.filter(study=study).first()
    at = mark.swept_at if mark else None
    if mark is None or at is None or mark.layout != figures.layout_json(figures.compared_questions(study)):
        first = Judgment.objects.filter(study=study).values("pk")[: INLINE_JUDGMENTS + 1]
        few = first.count() <= INLINE_JUDGMENTS
        return _refresh_now(study, at) if few else _wake(study, at)
    if timezone.now() - at < timedelta(seconds=1):
        return Freshness(at)
    changes = _changes(study, mark.seen)
    if not changes.due:
        return Freshness(timezone.now())
    return _refresh_now(study, at) if changes.judgments <= INLINE_JUDGMENTS else _wake(study, at)


def _refresh_now(study: Study, at: datetime | None) -> Freshness:
    return Freshness(timezone.now()) if refresh(study.pk) else Freshness(at, working=True)


def _wake(study: Study, at: datetime | None) -> Freshness:
    study_id = study.pk
    transaction.on_commit(
        lambda: task_messages.send_task("analytics.tasks.refresh_study_raters", study_id, expires=60),
        robust=True,
    )
    return Freshness(at, working=True)


_DUE = """
SELECT s.id FROM annotation_study s LEFT JOIN analytics_qualitysweep w ON w.study_id = s.id
WHERE s.archived_at IS NULL AND s.deletion_due_at IS NULL AND s.deleted_at IS NULL AND (
    coalesce((SELECT max(j.id) FROM annotation_judgment j WHERE j.study_id = s.id), 0)
        > coalesce((w.seen ->> 'judgments')::bigint, 0)
    OR w.study_id IS NOT NULL AND (
        coalesce((SELECT max(a.id) FROM annotation_auditevent a WHERE a.study_id = s.id), 0)
            > coalesce((w.seen ->> 'audit')::bigint, 0)
        OR coalesce((SELECT max(e.id) FROM annotation_exclusion e WHERE e.study_id = s.id), 0)
            > coalesce((w.seen ->> 'exclusions')::bigint, 0)
        OR EXISTS (SELECT FROM analytics_raterquality q WHERE q.study_id = s.id AND q.changed_at < now() - %(wait)s)))
ORDER BY s.id
"""


def studies_due() -> list[int]:
    """Studies in use whose raters have done something since their rows were last brought up to date."""
    return [pk for (pk,) in fetch_rows(_DUE, wait=LONGEST_WAIT)]


def refresh(study_id: int) -> bool:
    """Follow a study's data, and do what its rules say; False where another process is refreshing it."""
    with session_lock(LockKey.RATER_QUALITY * 10**6 + study_id) as alone:
        if not alone:
            return False
        study = Study.objects.get(pk=study_id)
        mark, _ = QualitySweep.objects.get_or_create(study=study)
        sight = sweeps.visible_heads(study, {name: source.highest for name, source in SOURCES.items()})
        questions = figures.compared_questions(study)
        layout = figures.layout_json(questions)
        if whole := _needs_whole(mark, layout):
            changes = Changes({}, tuple(pk for (pk,) in fetch_rows(_ALL_RATERS, study=study.pk)), 0)
            QualitySweep.objects.filter(study=study).update(layout=layout, whole_at=timezone.now())
        else:
            changes = _changes(study, mark.seen)
        # Where this process ends before its rules have acted, the next one looks at all raters.
        rules = QualityRules.of(study.rules).as_json()
        everybody = whole or mark.rules != rules
        QualitySweep.objects.filter(study=study).update(rules={})
        moved = refresh_raters(study, questions, changes.due, whole=whole)
        _note_changes(study, {rater: n for rater, n in changes.rows.items() if rater not in set(changes.due)})
        automation.apply_rules(study, None if everybody else {*changes.due, *moved})
        QualitySweep.objects.filter(study=study).update(rules=rules)
        sweeps.store_mark(mark, sight)
    return True


_ALL_RATERS = "SELECT id FROM annotation_rater WHERE study_id = %(study)s ORDER BY id"


def _needs_whole(mark: QualitySweep, layout: list[list[Any]]) -> bool:
    old = mark.whole_at is None or timezone.now() - mark.whole_at > WHOLE_EVERY
    return mark.swept_at is None or old or mark.layout != layout


def refresh_raters(
    study: Study, questions: Sequence[ComparedQuestion], raters: Collection[int], *, whole: bool = False
) -> list[int]:
    """Compute the rows of these raters again (`whole`: they are all of the study), and of all raters what depends on
    everybody's answers; who of these others moved."""
    ids = sorted(raters)
    answered = figures.load_answered(study, questions, None) if whole else None
    for start in range(0, len(ids), CHUNK):
        chunk = ids[start : start + CHUNK]
        of_chunk = answered or figures.load_answered(study, questions, chunk)
        rows = figures.rater_figures(study, questions, chunk, of_chunk)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit TO off")
            _write(study, questions, rows)
    return _write_agreement(study, questions) if ids else []


def _note_changes(study: Study, rows: Mapping[int, float]) -> None:
    """Rows that are not computed yet remember what changed. Changes met twice, see `sweeps`, only bring their turn
    forward."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE analytics_raterquality q SET n_changes = q.n_changes + c.n,"
            " changed_at = coalesce(q.changed_at, now())"
            " FROM unnest(%(raters)s::bigint[], %(n)s::int[]) AS c (rater, n) WHERE q.rater_id = c.rater",
            {"raters": list(rows), "n": [int(n) for n in rows.values()]},
        )


def forget(study: Study) -> None:
    """Mark the rows of a study as stale: the next refresh computes all of them."""
    QualitySweep.objects.filter(study=study).update(swept_at=None)


# ── Rows ─────────────────────────────────────────────────────────────────────

_FACTS = """
SELECT r.id, r.pseudonym, r.state, r.n_skips, r.last_judgment_at,
       ARRAY(SELECT DISTINCT a.kind FROM annotation_rateraction a
             WHERE a.rater_id = r.id AND a.reverted_at IS NULL ORDER BY a.kind)
FROM annotation_rater r WHERE r.id = ANY(%(raters)s)
"""
_FACT_NAMES = ("name", "state", "n_skips", "last_judged_at", "actions")
# Written from everybody's sums, not from the rater's own answers.
_FROM_ALL = frozenset({"agreement", "agreements", "alpha_gain", "content"})


def _write(study: Study, questions: Sequence[ComparedQuestion], rows: Sequence[RaterFigures]) -> None:
    known = fetch_rows(_FACTS, raters=[one.rater for one in rows])
    facts = {pk: dict(zip(_FACT_NAMES, row, strict=True)) for pk, *row in known}
    now = timezone.now()
    qualities = [
        RaterQuality(
            rater_id=one.rater, study_id=study.pk, computed_at=now, n_changes=0, changed_at=None,
            sums=_packed(questions, one),
            **facts[one.rater], **one.values,
        )
        for one in rows
        if one.rater in facts
    ]  # fmt: skip
    written = [
        field.name
        for field in RaterQuality._meta.concrete_fields
        if field.name != "rater" and field.name not in _FROM_ALL
    ]
    RaterQuality.objects.bulk_create(
        qualities, update_conflicts=True, unique_fields=["rater"], update_fields=written
    )


def _packed(questions: Sequence[ComparedQuestion], one: RaterFigures) -> bytes:
    """Of each question the rater's share of the sums, what leaving them out adds, and the evidence of content."""
    parts: list[FloatArray] = []
    for question, sums in zip(questions, one.sums, strict=True):
        if sums is None:
            parts.append(np.zeros(question.n_stored))
        else:
            parts += [sums.against.share, sums.against.without, sums.content]
    return np.concatenate(parts).astype(np.float64).tobytes() if parts else b""


def _write_agreement(study: Study, questions: Sequence[ComparedQuestion]) -> list[int]:
    """Agreement of every rater with the rest, and the evidence that answers follow what is judged, from everybody's
    sums; whose rows changed."""
    n_stored = sum(question.n_stored for question in questions)
    rows = [
        row
        for row in RaterQuality.objects.filter(study_id=study.pk).values_list(
            "rater_id", "sums", "n_judgments", "n_compared", "agreement", "alpha_gain", "content", "agreements"
        )
        if len(row[1]) == 8 * n_stored
    ]  # fmt: skip
    if not rows or not n_stored:
        return []
    sums = np.frombuffer(b"".join(bytes(row[1]) for row in rows), dtype=np.float64).reshape(
        len(rows), n_stored
    )
    counts = np.array([row[2] > 0 for row in rows], dtype=np.float64)
    found = _from_all(questions, sums, counts)
    compared = np.array([row[3] > 0 for row in rows])
    content = np.where(compared, found.content, np.nan)
    moved = [
        n
        for n, row in enumerate(rows)
        if len(row[7]) != len(questions)
        or any(
            _moved(before, now[n])
            for before, now in zip(row[4:7], (found.agreement, found.gain, content), strict=True)
        )
    ]  # fmt: skip
    ids = [rows[n][0] for n in moved]
    _update_agreement(ids, found.agreement[moved], found.gain[moved], content[moved], found.agreements[moved])
    QualitySweep.objects.filter(study=study).update(alphas=found.alphas)
    return ids


@dataclass(frozen=True, eq=False)
class _FromAll:
    """By rater: alpha with the rest, pooled over the questions by the ratings it rests on; what the first question's
    alpha gains without them; the evidence of content; (raters, questions) alpha with the rest. alphas: by question."""

    agreement: FloatArray
    gain: FloatArray
    content: FloatArray
    agreements: FloatArray
    alphas: dict[str, float | None]


def _from_all(questions: Sequence[ComparedQuestion], sums: FloatArray, counts: FloatArray) -> _FromAll:
    agreements, weights = (np.full((len(sums), len(questions)), np.nan) for _ in range(2))
    gain, content, start = np.full(len(sums), np.nan), np.zeros(len(sums)), 0
    alphas: dict[str, float | None] = {}
    for n, question in enumerate(questions):
        size = question.n_sums
        share, without, evidence = np.split(
            sums[:, start : start + question.n_stored], [size, 2 * size], axis=1
        )
        start += question.n_stored
        if not size:
            weights[:, n] = 0
            continue
        found = against_the_rest(share, without, counts, np.array(question.values), level=question.level)
        agreements[:, n] = found.with_rest
        weights[:, n] = np.where(
            np.isfinite(found.with_rest), share[:, : len(question.values)].sum(axis=1), 0.0
        )
        content += evidence[:, most_likely_concentration(evidence[counts > 0])]
        alphas[question.question.key] = _known(found.alpha)
        if n == 0:
            gain = found.without - found.alpha
    weight = weights.sum(axis=1)
    agreement = np.divide(
        np.nansum(np.where(weights > 0, agreements * weights, 0.0), axis=1), weight,
        out=np.full(len(sums), np.nan), where=weight > 0,
    )  # fmt: skip
    return _FromAll(agreement, gain, content, agreements, alphas)


def _moved(before: float | None, now: float) -> bool:
    if before is None or not np.isfinite(now):
        return (before is None) != (not np.isfinite(now))
    return bool(abs(before - now) > LEAST_MOVE)


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


_UPDATE = """
UPDATE analytics_raterquality q SET agreement = n.agreement, alpha_gain = n.gain, content = n.content,
       agreements = n.agreements::float8[]
FROM unnest(%(raters)s::bigint[], %(agreement)s::float8[], %(gain)s::float8[], %(content)s::float8[],
            %(agreements)s::text[]) AS n (rater, agreement, gain, content, agreements)
WHERE q.rater_id = n.rater
"""


def _update_agreement(
    raters: Sequence[int],
    agreement: FloatArray,
    gain: FloatArray,
    content: FloatArray,
    agreements: FloatArray,
) -> None:
    columns = {
        name: [_known(value) for value in column]
        for name, column in (("agreement", agreement), ("gain", gain), ("content", content))
    }
    each = [
        f"{{{','.join(repr(float(value)) if np.isfinite(value) else 'NULL' for value in row)}}}"
        for row in agreements
    ]
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE, {"raters": list(raters), "agreements": each, **columns})
