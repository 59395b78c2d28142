"""Actions on raters: warn, training again, pause, exclude from now on, exclude with all judgments. Each is a row, tells
the rater what it means for them, and can be reverted.

Whoever is paused or excluded finishes the task at hand. What somebody who is excluded submits later is excluded as it
comes (`exclude_later_judgments`), by the same mark, and comes back with the rest where the action is reverted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from annotation.errors import Conflict, InvalidInput
from annotation.models import Exclusion, Judgment, Rater, RaterAction, RaterNotice, Study, Task, User
from annotation.rating import counted, exclusions, overlap
from annotation.studies import audit

Kind = RaterAction.Kind
# Of exclusions that an action makes; their comment names it.
EXCLUSION_REASON = "rater_quality"
_STATES: Mapping[str, str] = {
    Kind.PAUSE: Rater.State.PAUSED,
    Kind.EXCLUDE: Rater.State.EXCLUDED,
    Kind.EXCLUDE_ALL: Rater.State.EXCLUDED,
}
_NOTICES: Mapping[str, str] = {
    Kind.WARN: RaterNotice.Kind.WARN,
    Kind.TRAINING: RaterNotice.Kind.TRAINING,
    Kind.PAUSE: RaterNotice.Kind.PAUSE,
    Kind.EXCLUDE: RaterNotice.Kind.EXCLUDE,
    Kind.EXCLUDE_ALL: RaterNotice.Kind.EXCLUDE,
}
MAX_REASON, MAX_MESSAGE = 200, 300


def act(
    rater: Rater,
    kind: str,
    *,
    actor: User | None,
    reason: str,
    message: str = "",
    rule: str = "",
    evidence: Sequence[Mapping[str, Any]] = (),
    recollect: bool = True,
) -> RaterAction | None:
    """Do something about a rater's work; None where the rule has acted on them before, or what it wants is so already.

    `message` is shown to the rater. `recollect`: tasks whose judgments are excluded open again for others.
    Raises InvalidInput for an unknown kind or a missing reason, Conflict `withdrawn`.
    """
    if kind not in Kind.values:
        raise InvalidInput.of_field("action", f"Choose one of {', '.join(Kind.values)}.")
    if not 0 < len(reason.strip()) <= MAX_REASON:
        raise InvalidInput.of_field("reason", f"Say why, in 1 to {MAX_REASON} characters.")
    if len(message) > MAX_MESSAGE:
        raise InvalidInput.of_field("message", f"Write at most {MAX_MESSAGE} characters.")
    action = _take(
        rater,
        kind,
        actor=actor,
        reason=reason.strip(),
        message=message.strip(),
        rule=rule,
        evidence=list(evidence),
    )
    # In a transaction of its own: tasks are locked before raters.
    if action is not None and kind == Kind.EXCLUDE_ALL:
        _exclude(action, Judgment.objects.filter(rater=action.rater), recollect=recollect)
    return action


@transaction.atomic
def _take(
    rater: Rater,
    kind: str,
    *,
    actor: User | None,
    reason: str,
    message: str,
    rule: str,
    evidence: list[Mapping[str, Any]],
) -> RaterAction | None:
    rater = _locked(rater)
    if rule and RaterAction.objects.filter(rater=rater, rule=rule, kind=kind).exists():
        return None
    if not actor and _is_so_already(rater, kind):
        return None
    action = RaterAction.objects.create(
        study=rater.study, rater=rater, kind=kind, rule=rule, reason=reason, evidence=evidence,
        state_before=rater.state, actor=actor,
    )  # fmt: skip
    state = _STATES.get(kind)
    if state is not None and rater.state != state:
        rater.state = state
        rater.save(update_fields=["state"])
    if kind == Kind.TRAINING:
        _send_to_training(rater, reason=reason)
    RaterNotice.objects.create(rater=rater, action=action, kind=_NOTICES[kind], text=message)
    audit.record(
        "rater.action_taken", actor=actor, study=rater.study, subject=rater.pseudonym, kind=kind, rule=rule,
        reason=reason, id=action.pk, state=rater.state,
    )  # fmt: skip
    return action


def _is_so_already(rater: Rater, kind: str) -> bool:
    """A rule does not pause who is excluded, and does not exclude anew who is."""
    if kind == Kind.EXCLUDE_ALL:
        return RaterAction.objects.filter(rater=rater, kind=kind, reverted_at=None).exists()
    return rater.state == Rater.State.EXCLUDED or rater.state == _STATES.get(kind)


def _send_to_training(rater: Rater, *, reason: str) -> None:
    from annotation.onboarding import clearing  # it imports the rating of tasks, which imports this room

    clearing.revoke_training([rater], reason=reason)


def revert(action: RaterAction, *, actor: User | None) -> RaterAction:
    """Take an action back: the rater's state and what it excluded. Reverting twice is reverting once."""
    action = _take_back(action, actor=actor)
    if action.kind in (Kind.EXCLUDE, Kind.EXCLUDE_ALL):
        exclusions.exclude_or_restore(
            _excluded_by(action),
            study=action.rater.study,
            action=Exclusion.Action.RESTORE,
            reason=EXCLUSION_REASON,
            comment=_comment(action),
            actor=actor,
            subject=f"rater {action.rater.pseudonym}",
        )
    return action


def revert_all(rater: Rater, *, actor: User | None) -> int:
    """Take back all that was done about a rater and still stands, the latest first; how much that was."""
    standing = list(RaterAction.objects.filter(rater=rater, reverted_at=None).order_by("-pk"))
    for action in standing:
        revert(action, actor=actor)
    return len(standing)


@transaction.atomic
def _take_back(action: RaterAction, *, actor: User | None) -> RaterAction:
    rater = _locked(action.rater)
    action = RaterAction.objects.get(pk=action.pk)
    action.rater = rater
    if action.reverted_at is not None:
        return action
    action.reverted_at, action.reverted_by = timezone.now(), actor
    action.save(update_fields=["reverted_at", "reverted_by"])
    RaterNotice.objects.filter(action=action, dismissed_at=None).update(dismissed_at=timezone.now())
    before = rater.state
    rater.state = _state_without(rater, action)
    if rater.state != before:
        rater.save(update_fields=["state"])
        if rater.state == Rater.State.ACTIVE:
            RaterNotice.objects.create(rater=rater, action=action, kind=RaterNotice.Kind.REINSTATED)
    audit.record(
        "rater.action_reverted", actor=actor, study=rater.study, subject=rater.pseudonym, kind=action.kind,
        rule=action.rule, id=action.pk, state=rater.state,
    )  # fmt: skip
    return action


def _state_without(rater: Rater, action: RaterAction) -> str:
    """The strongest state that another standing action gives; without one, the state before this action, unless a
    person has changed it since."""
    made = _STATES.get(action.kind)
    if made is None:
        return rater.state
    standing = RaterAction.objects.filter(rater=rater, reverted_at=None, kind__in=list(_STATES))
    # Actions taken in that state go back to the one before it.
    standing.filter(pk__gt=action.pk, state_before=made).update(state_before=action.state_before)
    if rater.state == Rater.State.WITHDRAWN:
        return rater.state
    states = {_STATES[kind] for kind in standing.values_list("kind", flat=True)}
    if Rater.State.EXCLUDED in states:
        return Rater.State.EXCLUDED
    if states:
        return Rater.State.PAUSED
    return action.state_before if rater.state == made else rater.state


def exclude_later_judgments(study: Study, *, recollect: bool) -> int:
    """Exclude what raters submitted after they were excluded: tasks they held. Returns how many. Of those who are
    excluded with all judgments, also what was left where a process ended before it had excluded them."""
    actions = RaterAction.objects.filter(
        study=study, reverted_at=None, kind__in=(Kind.EXCLUDE, Kind.EXCLUDE_ALL),
        rater__state=Rater.State.EXCLUDED, rater__n_judgments__gt=0,
    ).filter(Q(kind=Kind.EXCLUDE_ALL) | Q(rater__last_judgment_at__gt=F("created_at")))  # fmt: skip
    n = 0
    for action in actions.select_related("rater__study").order_by("pk"):
        later = Judgment.objects.filter(counted.IS_COUNTED, rater=action.rater)
        if action.kind == Kind.EXCLUDE:
            later = later.filter(submitted_at__gt=action.created_at)
        # What it has excluded before, and somebody restored, stays.
        marked = Exclusion.objects.filter(judgment=OuterRef("pk"), comment=_comment(action))
        later = later.filter(~Exists(marked))
        if later.exists():
            n += _exclude(action, later, recollect=recollect)
    return n


@transaction.atomic
def _exclude(action: RaterAction, judgments: QuerySet[Judgment], *, recollect: bool) -> int:
    rater = action.rater
    counts = Counter(
        judgments.filter(counted.IS_COUNTED, task__kind=Task.Kind.REGULAR).values_list("task_id", flat=True)
    )
    outcome = exclusions.exclude_or_restore(
        judgments,
        study=rater.study,
        action=Exclusion.Action.EXCLUDE,
        reason=EXCLUSION_REASON,
        comment=_comment(action),
        actor=action.actor,
        subject=f"rater {rater.pseudonym}",
    )
    if not recollect:
        # A restored judgment finds its place again: the overlap grows to hold it.
        overlap.change_overlap(rater.study, {task: -n for task, n in counts.items()})
    action.n_judgments += outcome.changed
    RaterAction.objects.filter(pk=action.pk).update(n_judgments=action.n_judgments)
    return outcome.changed


def _excluded_by(action: RaterAction) -> QuerySet[Judgment]:
    """Judgments of which the last mark is this action's: a person's own exclusion later stands."""
    last = Exclusion.objects.filter(judgment=OuterRef("pk")).order_by("-pk")
    return Judgment.objects.filter(rater=action.rater, excluded=True).annotate(
        last_reason=Subquery(last.values("reason")[:1]), last_comment=Subquery(last.values("comment")[:1])
    ).filter(last_reason=EXCLUSION_REASON, last_comment=_comment(action))  # fmt: skip


def _comment(action: RaterAction) -> str:
    return f"action {action.pk}"


def _locked(rater: Rater) -> Rater:
    locked = (
        Rater.objects.select_for_update(no_key=True, of=("self",)).select_related("study").get(pk=rater.pk)
    )
    if locked.state == Rater.State.WITHDRAWN:
        raise Conflict("This rater has withdrawn: nothing more is done about their work.", code="withdrawn")
    return locked


# ── What the rater is told ───────────────────────────────────────────────────


def open_notices(rater: Rater) -> list[RaterNotice]:
    """The newest first."""
    return list(RaterNotice.objects.filter(rater=rater, dismissed_at=None).order_by("-pk")[:10])


def dismiss_notices(rater: Rater) -> None:
    RaterNotice.objects.filter(rater=rater, dismissed_at=None).update(dismissed_at=timezone.now())
