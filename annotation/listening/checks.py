"""Listening checks (headphone screening, level setting): trials are drawn, answered and scored on the server. A
browser gets sounds and sends answers."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation import access
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotFound
from annotation.listening.rules import checks as rules
from annotation.listening.rules.checks import KINDS, CheckRules, CheckRun, CheckStanding
from annotation.models import Judgment, ListeningCheck, Study, User
from annotation.rating import overlap
from annotation.studies import audit
from annotation.studies.settings import validate
from annotation.studies.stored_settings import lock_study, save_settings

_FINISHED = (ListeningCheck.State.PASSED, ListeningCheck.State.FAILED)


def check_standings(rater_id: int, study: Study) -> list[CheckStanding]:
    """One for each check that the study requires; none, and no query, where it requires none."""
    required = CheckRules.of(study.rules)
    if not required.require:
        return []
    now = timezone.now()
    longest = max(timedelta(hours=required.valid_hours), rules.FAILURES_FORGOTTEN_AFTER)
    runs = ListeningCheck.objects.filter(
        rater_id=rater_id, kind__in=required.require, state__in=_FINISHED, finished_at__gt=now - longest
    )
    finished = [
        CheckRun(kind, state == ListeningCheck.State.PASSED, finished_at)
        for kind, state, finished_at in runs.values_list("kind", "state", "finished_at")
        if finished_at
    ]
    worked = _judgment_times(rater_id, since=now - longest) if required.recheck_minutes and finished else []
    return rules.standings(required, finished, worked=worked, now=now)


def refuse_when_due(rater_id: int, study_id: int) -> None:
    """Raises `checks_due` where a rater has a check to take before the next task."""
    if rules.is_due(check_standings(rater_id, Study.objects.get(pk=study_id))):
        raise Conflict("A listening check is due before your next task.", code="checks_due")


def latest_checks(study: Study, pseudonyms: Collection[str]) -> dict[str, list[ListeningCheck]]:
    """By pseudonym, the latest finished check of each kind, in the order in which checks are taken."""
    runs = finished_checks(study).filter(rater__pseudonym__in=pseudonyms).select_related("rater")
    newest = runs.order_by("rater_id", "kind", "-finished_at").distinct("rater_id", "kind")
    latest: dict[str, list[ListeningCheck]] = {}
    for run in sorted(newest, key=lambda run: list(rules.KINDS).index(run.kind)):
        latest.setdefault(run.rater.pseudonym, []).append(run)
    return latest


def finished_checks(study: Study) -> QuerySet[ListeningCheck]:
    """Every check that raters of a study took to its end, without its trials."""
    return ListeningCheck.objects.filter(rater__study=study, state__in=_FINISHED).defer("trials")


def _judgment_times(rater_id: int, *, since: datetime) -> Sequence[datetime]:
    judged = Judgment.objects.filter(rater_id=rater_id, submitted_at__gt=since).exclude(
        origin=Judgment.Origin.EXPERT
    )
    return list(judged.values_list("submitted_at", flat=True))


@transaction.atomic
def start_check(user: User, slug: str, *, kind: str) -> ListeningCheck:
    """A run of a check that the study requires: the one begun in the last day, so that nobody looks for easier trials,
    or a fresh one. Raises `checks_exhausted` after too many failures."""
    rater = access.rater_of(user, slug)
    overlap.lock_raters([rater.pk])  # two tabs start one run
    standing = next((each for each in check_standings(rater.pk, rater.study) if each.kind == kind), None)
    if standing is None:
        raise InvalidInput("This study does not ask for this check.", code="check_not_required")
    if standing.state == "exhausted":
        raise Conflict("You have tried this check too often; try again tomorrow.", code="checks_exhausted")
    begun = ListeningCheck.objects.filter(
        rater=rater,
        kind=kind,
        state=ListeningCheck.State.OPEN,
        started_at__gt=timezone.now() - rules.FAILURES_FORGOTTEN_AFTER,
    ).first()
    trials = rules.draw_trials(kind, seed=secrets.randbits(62))
    return begun or ListeningCheck.objects.create(rater=rater, kind=kind, trials=trials)


@transaction.atomic
def answer_trial(user: User, check_id: uuid.UUID, *, trial: int, choice: int) -> ListeningCheck:
    """Store one answer, in the order of the trials; the last one decides. Repeating an answer is harmless."""
    check = access.listening_check_of(user, check_id, lock=True)
    kind = KINDS[check.kind]
    if not (0 <= trial < kind.n_trials and 0 <= choice < kind.n_choices):
        raise InvalidInput(
            "There is no such answer.",
            problems=[
                FieldProblem("choice", f"Give 0 to {kind.n_choices - 1} for trial 0 to {kind.n_trials - 1}.")
            ],
        )
    if check.trials[trial]["answer"] == choice:
        return check
    if check.trials[trial]["answer"] is not None or trial != n_answered_trials(check):
        raise Conflict("This trial was answered before, or is not the next one.", code="out_of_turn")
    check.trials[trial]["answer"] = choice
    if n_answered_trials(check) == kind.n_trials:
        _finish_check(check)
    check.save(update_fields=["trials", "state", "n_correct", "finished_at"])
    return check


def trial_sound(user: User, check_id: uuid.UUID, *, trial: int) -> bytes:
    """The sound of one trial of an open run, as FLAC; all of a kind are of one size."""
    check = access.listening_check_of(user, check_id)
    if check.state != ListeningCheck.State.OPEN or not 0 <= trial < len(check.trials):
        raise NotFound
    from annotation.audio import check_sounds  # with ffmpeg, which nobody else here needs

    return check_sounds.encode(check.kind, check_sounds.synthesise(check.kind, check.trials[trial]))


def n_answered_trials(check: ListeningCheck) -> int:
    return sum(trial["answer"] is not None for trial in check.trials)


@transaction.atomic
def set_check_rules(study: Study, *, actor: User | None, **settings: Any) -> Study:
    """Change what a study requires. What is not named stays as it is."""
    study = lock_study(study)
    before = check_settings(study)
    stored = {**study.rules.get("checks", {}), **settings}
    save_settings(
        study,
        "checks",
        actor=actor,
        before=before,
        after={**before, **settings},
        problems=validate(CheckRules, settings),
        stored=stored,
    )
    return study


def check_settings(study: Study) -> dict[str, Any]:
    """All settings of a study's checks, as `set_check_rules` takes them."""
    settings = asdict(CheckRules.of(study.rules))
    return {**settings, "require": list(settings["require"])}


def _finish_check(check: ListeningCheck) -> None:
    """The log has the rater's pseudonym, without the account beside it or how many they had right."""
    passed, check.n_correct = rules.score_trials(check.kind, check.trials)
    check.state = ListeningCheck.State.PASSED if passed else ListeningCheck.State.FAILED
    check.finished_at = timezone.now()
    audit.record(
        "check.finished", actor=None, study=check.rater.study, subject=check.rater.pseudonym, kind=check.kind,
        state=check.state,
    )  # fmt: skip
