"""Where raters stand with the listening checks of their study."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone

from annotation.errors import Conflict
from annotation.models import Judgment, ListeningCheck, Study
from annotation.rules import listening_checks as rules
from annotation.rules.listening_checks import CheckRules, Run, Standing

_FINISHED = (ListeningCheck.State.PASSED, ListeningCheck.State.FAILED)


def standings(rater_id: int, study: Study) -> list[Standing]:
    """One for each check that the study requires; none, and no query, where it requires none."""
    wanted = CheckRules.of(study.rules)
    if not wanted.require:
        return []
    now = timezone.now()
    longest = max(timedelta(hours=wanted.valid_hours), rules.FAILURES_FORGOTTEN_AFTER)
    runs = ListeningCheck.objects.filter(
        rater_id=rater_id, kind__in=wanted.require, state__in=_FINISHED, finished_at__gt=now - longest
    )
    found = [
        Run(kind, state == ListeningCheck.State.PASSED, finished_at)
        for kind, state, finished_at in runs.values_list("kind", "state", "finished_at")
        if finished_at
    ]
    worked = _worked(rater_id, since=now - longest) if wanted.recheck_minutes and found else []
    return rules.standings(wanted, found, worked=worked, now=now)


def refuse_when_due(rater_id: int, study_id: int) -> None:
    """Raises `checks_due` where a rater has a check to take before the next task."""
    if rules.is_due(standings(rater_id, Study.objects.get(pk=study_id))):
        raise Conflict("A listening check is due before your next task.", code="checks_due")


def latest_runs(study: Study, pseudonyms: Collection[str]) -> dict[str, list[ListeningCheck]]:
    """By pseudonym, the latest finished check of each kind, in the order in which checks are taken."""
    runs = finished(study).filter(rater__pseudonym__in=pseudonyms).select_related("rater")
    newest = runs.order_by("rater_id", "kind", "-finished_at").distinct("rater_id", "kind")
    found: dict[str, list[ListeningCheck]] = {}
    for run in sorted(newest, key=lambda run: list(rules.KINDS).index(run.kind)):
        found.setdefault(run.rater.pseudonym, []).append(run)
    return found


def finished(study: Study) -> QuerySet[ListeningCheck]:
    """Every check that raters of a study took to its end, without its trials."""
    return ListeningCheck.objects.filter(rater__study=study, state__in=_FINISHED).defer("trials")


def _worked(rater_id: int, *, since: datetime) -> Sequence[datetime]:
    judged = Judgment.objects.filter(rater_id=rater_id, submitted_at__gt=since).exclude(
        origin=Judgment.Origin.EXPERT
    )
    return list(judged.values_list("submitted_at", flat=True))
