"""Every listening check that a rater of a study took to its end, but those of raters who have withdrawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from analytics.records.plain import utc
from annotation.models import ListeningCheck, Study
from annotation.rules.listening_checks import KINDS

Record = dict[str, Any]

BATCH = 2000


def check_records(study: Study) -> Iterator[Record]:
    """Rater by rater, oldest first. `n_correct` is None where no answer is wrong."""
    runs = ListeningCheck.objects.filter(
        rater__study=study, finished_at__isnull=False, rater__withdrawal=None
    )
    fields = ("rater__pseudonym", "kind", "state", "n_correct", "started_at", "finished_at")
    for row in (
        runs.order_by("rater__pseudonym", "finished_at", "pk").values(*fields).iterator(chunk_size=BATCH)
    ):
        yield {
            "study": study.slug,
            "rater": row["rater__pseudonym"],
            "check": row["kind"],
            "passed": row["state"] == ListeningCheck.State.PASSED,
            "n_correct": row["n_correct"],
            "n_trials": KINDS[row["kind"]].n_trials,
            "started_at": utc(row["started_at"]),
            "finished_at": utc(row["finished_at"]),
        }
