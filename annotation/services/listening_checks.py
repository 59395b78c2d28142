"""Taking listening checks. What is right is drawn and kept here; a browser gets sounds and gives answers."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import access, audit
from annotation.audio import check_sounds
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotFound
from annotation.models import ListeningCheck, Study, User
from annotation.rules import listening_checks as rules
from annotation.rules.listening_checks import KINDS, CheckRules
from annotation.services import leases
from annotation.services.check_standings import standings


@transaction.atomic
def start(user: User, slug: str, *, kind: str) -> ListeningCheck:
    """A run of a check that the study requires: the one begun in the last day, so that nobody looks for easier trials,
    or a fresh one. Raises `checks_exhausted` after too many failures."""
    rater = access.rater_of(user, slug)
    leases.lock_raters([rater.pk])  # two tabs start one run
    standing = next((each for each in standings(rater.pk, rater.study) if each.kind == kind), None)
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
def answer(user: User, check_id: uuid.UUID, *, trial: int, choice: int) -> ListeningCheck:
    """Store one answer, in the order of the trials; the last one decides. Repeating an answer is harmless."""
    check = access.check_of(user, check_id, lock=True)
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
    if check.trials[trial]["answer"] is not None or trial != n_answered(check):
        raise Conflict("This trial was answered before, or is not the next one.", code="out_of_turn")
    check.trials[trial]["answer"] = choice
    if n_answered(check) == kind.n_trials:
        _decide(check)
    check.save(update_fields=["trials", "state", "n_correct", "finished_at"])
    if check.state != ListeningCheck.State.OPEN:
        _record_end(check)
    return check


def sound(user: User, check_id: uuid.UUID, *, trial: int) -> bytes:
    """The sound of one trial of an open run, as FLAC; all of a kind are of one size."""
    check = access.check_of(user, check_id)
    if check.state != ListeningCheck.State.OPEN or not 0 <= trial < len(check.trials):
        raise NotFound
    return check_sounds.encode(check.kind, check_sounds.synthesise(check.kind, check.trials[trial]))


def n_answered(check: ListeningCheck) -> int:
    return sum(trial["answer"] is not None for trial in check.trials)


@transaction.atomic
def set_rules(study: Study, *, actor: User | None, **wanted: Any) -> Study:
    """Change what a study requires. What is not named stays as it is."""
    found = [FieldProblem(problem.field, problem.message) for problem in rules.faults(wanted)]
    if found:
        raise InvalidInput("These settings cannot be used.", problems=found)
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    before = settings_of(study)
    changes = {name: [before[name], value] for name, value in wanted.items() if before[name] != value}
    if changes:
        study.rules = {**study.rules, "checks": {**study.rules.get("checks", {}), **wanted}}
        study.save(update_fields=["rules"])
        audit.record("study.changed", actor=actor, study=study, checks=changes)
    return study


def settings_of(study: Study) -> dict[str, Any]:
    """All settings of a study's checks, as `set_rules` takes them."""
    settings = asdict(CheckRules.of(study.rules))
    return {**settings, "require": list(settings["require"])}


def _decide(check: ListeningCheck) -> None:
    verdict = rules.judge(check.kind, check.trials)
    check.state = ListeningCheck.State.PASSED if verdict.passed else ListeningCheck.State.FAILED
    check.n_correct = verdict.n_correct
    check.finished_at = timezone.now()


def _record_end(check: ListeningCheck) -> None:
    """Under the rater's pseudonym, and without the account beside it, or how many they had right."""
    rater = check.rater
    audit.record(
        "check.finished",
        actor=None,
        study=rater.study,
        subject=rater.pseudonym,
        kind=check.kind,
        state=check.state,
    )
