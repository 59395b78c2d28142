"""Up to where a release looks.

All that a release tells is in tables that are only ever added to, so a study at one moment is what lies below one id in
each of them. Ids are given out before they are committed, though: what is above the highest id in sight is later, but
what is below it may still be on its way. So the line is drawn while nobody else is writing: SHARE locks wait for
everyone who has inserted a row and not committed it, and hold up those who want to insert one, who take their lock
before they take an id. Reading the highest ids then takes milliseconds.

Whoever waits for such a lock holds up all who come after. So it is given up after a moment, before the database would
look for a deadlock, and asked for again: a long import delays a release, and a release delays nobody.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from django.db import OperationalError, connection, transaction

from annotation.models import ListeningCheck, Study

# By what the horizon calls it: rows of the study below the highest id are all there are.
TABLES = {
    "judgments": "annotation_judgment",
    "exclusions": "annotation_exclusion",
    "raters": "annotation_rater",
    "rater_withdrawals": "annotation_raterwithdrawal",
    "item_versions": "annotation_itemversion",
    "candidates": "annotation_candidate",
    "corrections": "annotation_correction",
    "case_events": "annotation_caseevent",
    "audit_events": "annotation_auditevent",
    "protocol_versions": "annotation_protocolversion",
    "ordering_policies": "annotation_orderingpolicy",
}
_CHECKS = "annotation_listeningcheck"
# Shorter than deadlock_timeout, which is a second unless somebody has set it.
_PATIENCE_MS = 300
_PAUSE_SECONDS = 0.7
_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(frozen=True)
class Horizon:
    """The highest id of each table that a release looks at, in the whole database. `checks` are the listening checks
    that had been finished, by name: they are rows that change, and few."""

    judgments: int
    exclusions: int
    raters: int
    rater_withdrawals: int
    item_versions: int
    candidates: int
    corrections: int
    case_events: int
    audit_events: int
    protocol_versions: int
    ordering_policies: int
    checks: tuple[str, ...] = ()

    def params(self, study: Study) -> dict[str, Any]:
        return {**asdict(self), "checks": list(self.checks), "study": study.pk}


def draw(study: Study, *, on_wait: Callable[[], None] = lambda: None) -> tuple[Horizon, Study]:
    """Draw the line: the horizon, and the study as it was then. Not inside a transaction.

    `on_wait` is called before each further attempt; what it raises ends the wait.
    """
    while True:
        try:
            return _drawn(study)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
                raise
        on_wait()
        time.sleep(_PAUSE_SECONDS)


def in_sight(study: Study) -> Horizon:
    """The line around all that this transaction sees. Good for as long as it sees no more (`one_moment`)."""
    heads = ", ".join(f'(SELECT coalesce(max(id), 0) FROM "{table}")' for table in TABLES.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {heads}")
        highest = dict(zip(TABLES, cursor.fetchone(), strict=True))
    checks = ListeningCheck.objects.filter(rater__study=study, finished_at__isnull=False)
    names = tuple(sorted(str(pk) for pk in checks.values_list("pk", flat=True)))
    return Horizon(**highest, checks=names)


@transaction.atomic
def _drawn(study: Study) -> tuple[Horizon, Study]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {_PATIENCE_MS}")
        cursor.execute(f"LOCK TABLE {', '.join([*TABLES.values(), _CHECKS])} IN SHARE MODE")
    return in_sight(study), Study.objects.get(pk=study.pk)
