"""Snapshots: the high-water mark in each table up to which a release looks, drawn under SHARE locks with retry.

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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

from annotation.errors import FieldProblem, InvalidInput
from annotation.models import ListeningCheck, OrderingPolicy, ProtocolVersion, Study
from annotation.rating.rules.ordering import PRIORITIES_SOURCE_KEY

_CHECKS = "annotation_listeningcheck"
# Shorter than deadlock_timeout, which is a second unless somebody has set it.
_LOCK_TIMEOUT_MS = 300
_RETRY_SECONDS = 0.7
_LOCK_NOT_AVAILABLE = "55P03"


def _highest_id(table: str) -> int:
    """Field of a bound: rows of the study up to it are all there are in the table."""
    return field(metadata={"table": f"annotation_{table}"})  # type: ignore[no-any-return]


@dataclass(frozen=True)
class SnapshotBounds:
    """The highest id of each table that a release looks at, in the whole database. `checks` are the listening checks
    that had been finished, by name: they are rows that change, and few."""

    judgments: int = _highest_id("judgment")
    exclusions: int = _highest_id("exclusion")
    raters: int = _highest_id("rater")
    rater_withdrawals: int = _highest_id("raterwithdrawal")
    item_versions: int = _highest_id("itemversion")
    candidates: int = _highest_id("candidate")
    corrections: int = _highest_id("correction")
    case_events: int = _highest_id("caseevent")
    audit_events: int = _highest_id("auditevent")
    protocol_versions: int = _highest_id("protocolversion")
    ordering_policies: int = _highest_id("orderingpolicy")
    checks: tuple[str, ...] = ()

    def params(self, study: Study) -> dict[str, Any]:
        return {**asdict(self), "checks": list(self.checks), "study": study.pk}


BOUNDED_TABLES = {one.name: one.metadata["table"] for one in fields(SnapshotBounds) if one.metadata}


def draw_snapshot(
    study: Study, *, on_wait: Callable[[], None] = lambda: None
) -> tuple[SnapshotBounds, Study]:
    """Draw the line: the horizon, and the study as it was then. Not inside a transaction.

    `on_wait` is called before each further attempt; what it raises ends the wait.
    """
    while True:
        try:
            return _draw_bounds(study)
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != _LOCK_NOT_AVAILABLE:
                raise
        on_wait()
        time.sleep(_RETRY_SECONDS)


def visible_bounds(study: Study) -> SnapshotBounds:
    """The line around all that this transaction sees. Good for as long as it sees no more (`consistent_snapshot`)."""
    heads = ", ".join(f'(SELECT coalesce(max(id), 0) FROM "{table}")' for table in BOUNDED_TABLES.values())
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {heads}")
        highest = dict(zip(BOUNDED_TABLES, cursor.fetchone(), strict=True))
    checks = ListeningCheck.objects.filter(rater__study=study, finished_at__isnull=False)
    names = tuple(sorted(str(pk) for pk in checks.values_list("pk", flat=True)))
    return SnapshotBounds(**highest, checks=names)


@transaction.atomic
def _draw_bounds(study: Study) -> tuple[SnapshotBounds, Study]:
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {_LOCK_TIMEOUT_MS}")
        cursor.execute(f"LOCK TABLE {', '.join([*BOUNDED_TABLES.values(), _CHECKS])} IN SHARE MODE")
    return visible_bounds(study), Study.objects.get(pk=study.pk)


# Release options.

AUDIO_CHOICES = ("", "canonical", "original")


@dataclass(frozen=True)
class ReleaseOptions:
    """`license` is a name that Hugging Face knows; `language` are codes. `excluded`: whether judgments that somebody
    excluded are in it, marked, or left out."""

    audio: str = ""
    note: str = ""
    license: str = "unknown"
    language: tuple[str, ...] = ()
    creator: str = ""
    url: str = ""
    excluded: bool = True

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> ReleaseOptions:
        """From JSON, as a job or a manifest keeps it."""
        return cls(**{**stored, "language": tuple(stored["language"])})

    def check(self) -> None:
        if self.audio not in AUDIO_CHOICES:
            known = "canonical (what raters heard), original (what was handed in) or nothing"
            raise InvalidInput(
                "This audio cannot be put into a release.",
                problems=[FieldProblem("audio", f"{self.audio!r} is not known.", f"Ask for {known}.")],
            )


# Facts of a study, as the manifests of exports and releases state them.

_STUDY_FIELDS = ("slug", "title", "description", "state", "overlap", "order", "seed")
# Rules of a study that mean something on this installation only: folders and servers of the scorer of new items, and
# the database rows that priorities were made from.
_INSTALLATION_RULES = {"prescore", PRIORITIES_SOURCE_KEY}


def study_facts(study: Study) -> dict[str, Any]:
    rules = {name: rule for name, rule in study.rules.items() if name not in _INSTALLATION_RULES}
    return {**{name: getattr(study, name) for name in _STUDY_FIELDS}, "rules": rules}


def protocol_facts(versions: QuerySet[ProtocolVersion]) -> list[dict[str, Any]]:
    rows = versions.order_by("number").values_list("number", "preset", "definition_sha256", "definition")
    return [dict(zip(("number", "preset", "sha256", "definition"), row, strict=True)) for row in rows]


def policy_facts(policies: QuerySet[OrderingPolicy]) -> list[dict[str, Any]]:
    return [dict(row) for row in policies.order_by("number").values("number", "settings", "made_from")]


# The snapshot: with the database, all that is needed to make a release again.


@dataclass(frozen=True)
class StudySnapshot:
    """A study at one moment. `study` is what may change of it; `date` is all that a release says of when it was."""

    number: int
    date: str
    wishes: ReleaseOptions
    study: Mapping[str, Any]
    horizon: SnapshotBounds

    @classmethod
    def from_json(cls, cut: Mapping[str, Any]) -> StudySnapshot:
        """Raises InvalidInput for what no release has written."""
        try:
            wishes = ReleaseOptions.of(cut["wishes"])
            horizon = SnapshotBounds(**{**cut["horizon"], "checks": tuple(cut["horizon"]["checks"])})
            return cls(cut["number"], cut["date"], wishes, dict(cut["study"]), horizon)
        except (KeyError, TypeError) as error:
            raise InvalidInput(
                f"This is not the manifest of a release: {error}. Give the manifest.json that came with one.",
                code="bad_manifest",
            ) from error


def study_snapshot(
    study: Study, horizon: SnapshotBounds, *, number: int, wishes: ReleaseOptions, today: date | None = None
) -> StudySnapshot:
    day = today or datetime.now(tz=UTC).date()
    return StudySnapshot(number, day.isoformat(), wishes, study_facts(study), horizon)
