"""Leases under a policy of ordering against the plain order, turn by turn in the same database: the hot path's cost.

    python -m benchmarks.ordering [--size 100000] [--leases 2000]

Also how long the priorities of that many pairs take: reckoned and written for the first time, with nothing changed, and
after a few votes.
"""

from __future__ import annotations

from typing import Any

from benchmarks import harness

ROUNDS = 10
OVERLAP = 3

_SECOND = """
INSERT INTO annotation_taskcandidate (task_id, slot, candidate_id)
SELECT k.task_id, 1, c.id FROM annotation_taskcandidate k
JOIN annotation_task t ON t.id = k.task_id AND t.study_id = %(study)s
JOIN annotation_candidate one ON one.id = k.candidate_id
JOIN annotation_candidate c ON c.item_version_id = one.item_version_id AND c.id <> one.id
"""
_CANDIDATES = """
INSERT INTO annotation_candidate (item_version_id, system_id, take, text, provenance, created_at)
SELECT c.item_version_id, c.system_id, 2, c.text, '{}', now() FROM annotation_candidate c
JOIN annotation_system s ON s.id = c.system_id AND s.study_id = %(study)s
"""
_SCORES = """
INSERT INTO scoring_score (scorer_id, candidate_id, output, value, provenance, created_at)
SELECT %(scorer)s, c.id, o, random(), '{}', now() FROM annotation_candidate c
JOIN annotation_system s ON s.id = c.system_id AND s.study_id = %(study)s
CROSS JOIN unnest(ARRAY['alignment', 'musicality']) AS o
"""
_VOTES = """
WITH said AS (
    INSERT INTO annotation_judgment (study_id, task_id, protocol_version_id, client_id, payload_sha256, origin,
        revision, effective, excluded, surplus, codes, comment, submitted_at)
    SELECT %(study)s, t.id, %(protocol)s, gen_random_uuid(), '', 2, 1, true, false, false, '{}', '', now()
    FROM (SELECT id FROM annotation_task WHERE study_id = %(study)s ORDER BY random() LIMIT %(n)s) t
    RETURNING id, task_id
), counted AS (
    UPDATE annotation_task t SET n_judgments = n_judgments + 1 FROM said WHERE t.id = said.task_id
)
INSERT INTO annotation_answer (judgment_id, task_id, question_id, choice, text, counted)
SELECT said.id, said.task_id, %(question)s, 1 + (random() < 0.5)::int, '', true FROM said
"""
_SKIPPED = """
INSERT INTO annotation_assignment
    (id, task_id, rater_id, protocol_version_id, pass_number, state, presentation, leased_at, expires_at, closed_at,
     skip_reason, skip_comment)
SELECT gen_random_uuid(), t.id, %(rater)s, %(protocol)s, 1, 3, '{0}', now(), now(), now(), 'audio', ''
FROM (SELECT id FROM annotation_task WHERE study_id = %(study)s AND wants_more
      ORDER BY priority DESC, shuffle_key LIMIT %(n)s) t
"""


def main() -> None:
    arguments = harness.options(__doc__, size=100_000, leases=2000)
    harness.scratch_installation()
    reckoned = reckon(arguments.size)
    leased = lease(arguments.size, arguments.leases)
    ratio = {name: round(leased["policy"][name] / leased["plain"][name], 2) for name in ("p50", "p99")}
    harness.finish(
        "ordering tasks by a policy leaves leases as fast as they were",
        {"leases_ms": leased, "ratio": ratio, "priorities_s": reckoned},
        {
            "policy_over_plain_p50": (ratio["p50"], 2.5, "<="),
            "policy_p99_ms": (leased["policy"]["p99"], 25, "<="),
            "priorities_first_s": (reckoned["first"], 30, "<="),
            "priorities_unchanged_s": (reckoned["unchanged"], 0.1, "<="),
        },
    )


def lease(size: int, n: int) -> dict[str, dict[str, float]]:
    """Raters who are new take some tasks and answer none, in turns by the policy and in the plain order; at last one
    who has met 2,000 tasks that stay open and come first."""
    from django.db import connection

    from annotation.models import Membership
    from annotation.rating import task_selection
    from benchmarks import study_rows

    study = study_rows.make_study("ordered", n_tasks=size, overlap=OVERLAP)
    study_rows.make_raters(study, 2 * ROUNDS + 4)
    users = iter([member.user for member in Membership.objects.filter(study=study).order_by("pk")])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE annotation_task SET priority = round(random()::numeric, 3) WHERE study_id = %s",
            [study.pk],
        )
        cursor.execute("VACUUM ANALYZE annotation_task")
    study_rows.settle()
    seconds: dict[str, list[float]] = {"plain": [], "policy": []}
    for turn in range(ROUNDS + 1):
        for name in seconds:
            task_selection.set_ordering(study, actor=None, on=name == "policy")
            taken = _timed_leases(next(users), study.slug, n // ROUNDS)
            seconds[name] += taken if turn else []  # the first round prepares statements
    old_hand = next(users)
    _meet_the_first(study, old_hand, 2000)
    seconds["policy, 2,000 met"] = _timed_leases(old_hand, study.slug, n // ROUNDS)
    return {name: harness.percentiles(taken) for name, taken in seconds.items()}


def _timed_leases(user: Any, slug: str, n: int) -> list[float]:
    from annotation.rating import leases

    seconds = []
    taken: list[Any] = []
    for _ in range(n):
        seconds.append(harness.seconds_of(lambda: taken.append(leases.lease_next(user, slug)[1])))
        assert taken[-1] is not None
        leases.skip(user, taken[-1].id, reason="audio")
    return seconds


def _meet_the_first(study: Any, user: Any, n: int) -> None:
    from django.db import connection

    from annotation.models import Rater

    with connection.cursor() as cursor:
        values = {"study": study.pk, "rater": Rater.objects.get(study=study, user=user).pk, "n": n}
        cursor.execute(_SKIPPED, {**values, "protocol": study.protocol_version_id})
        cursor.execute("VACUUM ANALYZE annotation_assignment")


def reckon(size: int) -> dict[str, float]:
    """Seconds of a sweep over pairs with two scores each."""
    from django.db import connection
    from django.utils import timezone

    from annotation.rating import task_selection
    from annotation.studies import protocols
    from annotation.studies.protocols import load_protocol
    from benchmarks import study_rows
    from scoring.models import Scorer, ScoringRun
    from scoring.policies import priorities

    study = study_rows.make_study("pairs", n_tasks=size, overlap=OVERLAP)
    protocols.add_protocol_version(study, preset="cmi-pref", actor=None)
    study.refresh_from_db()
    question = load_protocol(study.protocol_version_id).question_ids["alignment"]
    scorer = Scorer.objects.create(key="cmi-rm", digest="0" * 64)
    ScoringRun.objects.create(
        study=study, scorer=scorer, metric="cmi-rm", state="done", finished_at=timezone.now()
    )
    values = {
        "study": study.pk,
        "scorer": scorer.pk,
        "protocol": study.protocol_version_id,
        "question": question,
    }
    with connection.cursor() as cursor:
        for statement in (_CANDIDATES, _SECOND, _SCORES):
            cursor.execute(statement, values)
        cursor.execute(_VOTES, {**values, "n": size // 2})
        cursor.execute("VACUUM ANALYZE")
    task_selection.set_ordering(study, actor=None, scorer="cmi-rm")
    first, unchanged = (round(harness.seconds_of(priorities.sweep), 3) for _ in range(2))
    with connection.cursor() as cursor:
        cursor.execute(_VOTES, {**values, "n": 100})
    after = round(harness.seconds_of(priorities.sweep), 3)
    return {"first": first, "unchanged": unchanged, "after_100_votes": after}


if __name__ == "__main__":
    main()
