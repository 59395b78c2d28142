"""What the indexes of the table of judgments cost a vote, each by itself and all that only pages need.

    python -m benchmarks.vote_indexes [--home FOLDER] [--rounds 6]

In the database of the folder, where `benchmarks.pages --home` left five million judgments; else in one of its own.
An index is dropped, votes are inserted, and all of it is rolled back, by turns: nothing is built anew. What is measured
is the processor's time of the database, which other work on the machine lengthens little. The bar is 3 % of a vote, for
which server and database take 5 ms (`benchmarks.web`).
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks import harness
from benchmarks.pages import database_cpu

VOTE_US = 5000
VOTES = 20_000
FOR_PAGES = (
    "judgment_by_time",
    "judgment_not_counted",
    "judgment_commented",
    "judgment_by_comment",
    "judgment_by_code",
)
BY_RATER = "judgment_rater_keyset"
# Of tasks and raters here and there, all with a code, one in ten with a comment.
_VOTES = """
INSERT INTO annotation_judgment
    (study_id, task_id, rater_id, protocol_version_id, client_id, payload_sha256, origin, revision, effective, excluded,
     surplus, presentation, codes, comment, telemetry, started_at, submitted_at)
SELECT j.study_id, j.task_id, j.rater_id, j.protocol_version_id, gen_random_uuid(), '', 1, 1, true, false,
       false, '{0}', ARRAY['A'], CASE WHEN n %% 10 = 0 THEN 'It sounds like a small bell, twice' ELSE '' END, '{}',
       now(), clock_timestamp()
FROM generate_series(1, %(votes)s) n JOIN annotation_judgment j
  ON j.id = %(first)s + (n * 7919 + %(seed)s) %% (%(last)s - %(first)s)
"""


def main() -> None:
    arguments = harness.options(__doc__, rounds=6, home="")
    harness.scratch_installation(keep=arguments.home)
    from annotation.models import Judgment
    from benchmarks import study_rows

    if not Judgment.objects.exists():
        study_rows.judge(study_rows.make_study("votes", n_tasks=100_000, overlap=5), raters=2000, each=5)
    # The index on raters came in the place of one on their number alone.
    turns: dict[str, list[str]] = {
        "as it is": [],
        "without those for pages": [f"DROP INDEX {', '.join(FOR_PAGES)}"],
        "as before": [
            f"DROP INDEX {', '.join((*FOR_PAGES, BY_RATER))}",
            "CREATE INDEX as_before ON annotation_judgment (rater_id)",
        ],
        **{f"without {name}": [f"DROP INDEX {name}"] for name in (*FOR_PAGES, BY_RATER)},
    }
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for seed in range(arguments.rounds):
        for name, changes in turns.items():
            seconds[name].append(insert(changes, seed))
    figures: dict[str, Any] = {
        f"microseconds {name}": round(1e6 * statistics.median(each) / VOTES, 1)
        for name, each in seconds.items()
    }
    share = (figures["microseconds as it is"] - figures["microseconds as before"]) / VOTE_US
    harness.finish(
        "indexes that pages need cost votes little", figures, {"of a vote": (round(share, 4), 0.03, "<=")}
    )


def insert(changes: list[str], seed: int) -> float:
    """Seconds of the database's processor."""
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("SET LOCAL maintenance_work_mem = '512MB'")
        for sql in changes:
            cursor.execute(sql)
        cursor.execute("SELECT min(id), max(id) FROM annotation_judgment")
        first, last = cursor.fetchone()
        began = database_cpu()
        cursor.execute(_VOTES, {"votes": VOTES, "seed": seed, "first": first, "last": last})
        taken = database_cpu() - began
        transaction.set_rollback(True)
    return taken


if __name__ == "__main__":
    main()
