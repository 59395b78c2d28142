"""Studies: creation, change, and the transitions of their state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.db import IntegrityError, transaction

from annotation import access
from annotation.checks.settings import set_injection
from annotation.errors import Conflict, FieldProblem, InvalidInput, NotAllowed
from annotation.listening import checks as listening_checks
from annotation.listening import coverage
from annotation.models import Membership, Study, User, Workspace
from annotation.models.people import Role
from annotation.onboarding import onboarding_settings
from annotation.rating import stopping as rating_stopping
from annotation.rating import task_selection as ordering_policies
from annotation.studies import audit, protocols, workspaces
from annotation.studies.stored_settings import lock_study

# From each state, where a study may go. A closed study can be opened again: closing loses nothing.
TRANSITIONS = {
    Study.State.DRAFT: {Study.State.RUNNING, Study.State.CLOSED},
    Study.State.RUNNING: {Study.State.PAUSED, Study.State.CLOSED},
    Study.State.PAUSED: {Study.State.RUNNING, Study.State.CLOSED},
    Study.State.CLOSED: {Study.State.RUNNING},
}
# Addresses under /studies/ that are pages of their own.
RESERVED_SLUGS = {"new", "from-files"}


@transaction.atomic
def create_study(
    *,
    slug: str,
    title: str,
    preset: str,
    actor: User | None,
    owner: User | None = None,
    definition: Mapping[str, Any] | None = None,
    workspace: Workspace | None = None,
    **rules: Any,
) -> Study:
    """A new study in draft, with its first protocol version; `owner` becomes its admin, by default whoever makes it.
    In a `workspace` its admins make studies too.

    `actor` is None for the command line, where whoever runs it owns the machine.
    """
    check_may_create(actor, workspace)
    check_slug(slug)
    try:
        with transaction.atomic():
            study = Study.objects.create(slug=slug, title=title, created_by=actor, **rules)
    except IntegrityError:
        raise Conflict(
            f"A study with the address {slug!r} exists already; choose another.", code="slug_taken"
        ) from None
    protocols.add_protocol_version(study, preset=preset, definition=definition, actor=actor)
    if (admin := owner or actor) is not None:
        Membership.objects.create(user=admin, study=study, role=Role.ADMIN)
    audit.record("study.created", actor=actor, study=study, slug=slug, preset=preset)
    if workspace is not None:
        workspaces.place_study(study, workspace, actor=actor)
    return study


def check_may_create(actor: User | None, workspace: Workspace | None) -> None:
    """Refuse an account that may not make a study: in a workspace its admins may, elsewhere who has the right to."""
    if actor is None:
        return
    if workspace is not None:
        if not access.administers_workspace(actor, workspace):
            raise NotAllowed(f"Only admins of the workspace “{workspace}” make studies in it.")
    elif not actor.may_create_studies:
        raise NotAllowed("Your account may not create studies; ask an operator for it.")


def workspace_by_slug(slug: str | None) -> Workspace | None:
    """Of an import that was begun earlier, or of the command line."""
    if slug is None:
        return None
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        raise InvalidInput(f"There is no workspace with the address {slug!r}.", code="no_workspace")
    return workspace


def check_slug(slug: str) -> None:
    """Refuse what cannot be the last part of a study's address."""
    problem = ""
    if slug in RESERVED_SLUGS:
        problem = f"{slug!r} is the address of a page here; choose another."
    elif not re.fullmatch(r"[-a-zA-Z0-9_]{1,80}", slug):
        problem = f"{slug!r} must be 1 to 80 letters, digits, hyphens and underscores."
    if problem:
        problems = [FieldProblem("slug", problem)]
        raise InvalidInput(f"This address cannot be used: {problem}", problems=problems, code="bad_slug")


@transaction.atomic
def set_study_state(study: Study, state: str, *, actor: User | None) -> Study:
    study = lock_study(study)
    before = Study.State(study.state)
    if state == before:
        return study
    if state not in TRANSITIONS[before]:
        allowed = ", ".join(sorted(TRANSITIONS[before]))
        raise InvalidInput(
            f"A study that is {before} can become {allowed}, not {state}.", code="bad_transition"
        )
    if state == Study.State.RUNNING and study.n_tasks == 0:
        raise InvalidInput("There is nothing to rate yet: import items first.", code="empty_study")
    study.state = state
    study.save(update_fields=["state"])
    audit.record("study.state_changed", actor=actor, study=study, before=before, after=state)
    return study


# Settings that have rules of their own, and who changes them.
SETTINGS: Mapping[str, Callable[..., Any]] = {
    "listening": coverage.set_listening_rules,
    "checks": listening_checks.set_check_rules,
    "stopping": rating_stopping.set_stopping_rule,
    "ordering": ordering_policies.set_ordering,
    "onboarding": onboarding_settings.set_onboarding,
    "injection": set_injection,
}


@transaction.atomic
def change_study(study: Study, *, actor: User | None, state: str | None = None, **values: Any) -> Study:
    """Change title, description, lease time, the settings of `SETTINGS`, or state.

    Overlap and order hold for tasks imported from now on.
    """
    fields = {name: value for name, value in values.items() if name not in SETTINGS}
    changes: dict[str, Any] = {
        name: [before, value] for name, value in fields.items() if (before := getattr(study, name)) != value
    }
    if changes:
        for name in changes:
            setattr(study, name, fields[name])
        study.save(update_fields=list(changes))
        audit.record("study.changed", actor=actor, study=study, **changes)
    for name, change in SETTINGS.items():
        if values.get(name):
            change(study, actor=actor, **values[name])
    return study if state is None else set_study_state(study, state, actor=actor)
