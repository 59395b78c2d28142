"""Access control: the only door from an id in a request to an object. Raises 404, not 403, for an object that the
account may not know of."""

from __future__ import annotations

import json
import uuid
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn, TypeVar

from django.db import connection
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotation.errors import Conflict, NotAllowed, NotFound
from annotation.models import (
    Assignment,
    Invitation,
    Item,
    ItemVersion,
    Job,
    ListeningCheck,
    Membership,
    Rater,
    ReviewCase,
    Study,
    Task,
    Upload,
    User,
    Webhook,
    WebhookDelivery,
)
from annotation.models.people import MANAGING_ROLES, RATING_ROLES, Role
from annotation.rating.rules.ordering import Ordering

Row = TypeVar("Row", bound=Model)


# Whether the request may change something: an archived study is not found for that (`access.read_only`).
changes_studies: ContextVar[bool] = ContextVar("changes_studies", default=False)
READ_ONLY = (
    "This study is archived: nothing in it can be changed. Whoever runs it can take it out of the archive."
)


@dataclass(frozen=True)
class RaterAtWork:
    """A rater who asks for a task: what leasing needs to know of them and of their study."""

    rater_id: int
    rater_state: str
    cursor: float
    n_judgments: int
    study_id: int
    study_state: str
    seed: int
    n_tasks: int
    lease_minutes: int
    protocol_version_id: int
    # Their live leases, oldest first, as of the moment the row was asked for.
    open_leases: list[uuid.UUID]
    # Whether the study wants listening checks.
    requires_checks: bool
    # Where the study shows what a model says: the share of assignments that it is kept from. Nothing is shown to
    # simulated raters.
    hints_withheld: float | None
    # Where the study orders tasks by a policy: its version in force.
    policy_id: int | None
    ordering: Ordering | None


@dataclass(frozen=True)
class HeldAssignment:
    """A rater's own assignment at the moment they answer it."""

    id: uuid.UUID
    state: int
    presentation: list[int]
    leased_at: datetime
    protocol_version_id: int
    rater_id: int
    task_id: int
    task_state: int
    study_id: int
    # Nobody plays anything to a simulated rater.
    simulated: bool = False


@dataclass(frozen=True)
class StudyAccess:
    """A study as one account may use it."""

    study: Study
    role: str

    @property
    def manages(self) -> bool:
        return self.role in MANAGING_ROLES

    @property
    def rates(self) -> bool:
        return self.role in RATING_ROLES

    @property
    def reviews(self) -> bool:
        return self.role == Role.EXPERT


def study_of(user: User, slug: str) -> StudyAccess:
    """Any member's view of a study; operators (superusers) count as its admins."""
    membership = (
        Membership.objects.select_related("study__protocol_version")
        .filter(user_id=user.pk, study__slug=slug)
        .first()
    )
    if membership is not None:
        check_token_study(user, membership.study_id)
        check_not_archived(membership.study)
        return StudyAccess(membership.study, membership.role)
    if user.is_superuser and (
        study := Study.objects.select_related("protocol_version").filter(slug=slug, deleted_at=None).first()
    ):
        check_token_study(user, study.pk)
        check_not_archived(study)
        return StudyAccess(study, Role.ADMIN)
    raise NotFound


def check_not_archived(study: Study) -> None:
    """Refuse a request that would change an archived study. Raises Conflict `archived`."""
    if study.is_read_only and changes_studies.get():
        raise Conflict(READ_ONLY, code="archived")


def check_token_study(user: User, study_id: int | None) -> None:
    """Whoever asks with a token that is limited to some studies finds nothing in the others."""
    if user.only_studies is not None and study_id not in user.only_studies:
        raise NotFound


def studies_of(user: User) -> QuerySet[Study]:
    """The studies this account takes part in, each with its `role` there; an operator's are all there are."""
    memberships = Membership.objects.filter(user_id=user.pk, study_id=OuterRef("pk"))
    role = Subquery(memberships.values("role"))
    studies = Study.objects.filter(deleted_at=None)
    if user.only_studies is not None:
        studies = studies.filter(pk__in=user.only_studies)
    if user.is_superuser:
        return studies.annotate(role=Coalesce(role, Value(Role.ADMIN.value)))
    return studies.annotate(role=role).filter(memberships__user_id=user.pk)


def managed_study(user: User, slug: str) -> Study:
    """A study that this account runs: researchers and admins. Its raters hear 403: they know it exists."""
    return managed_access(user, slug).study


def managed_access(user: User, slug: str) -> StudyAccess:
    """The same, with the account's role in it."""
    access = study_of(user, slug)
    if not access.manages:
        raise NotAllowed("Only researchers and admins of this study can do this.")
    return access


def administered_study(user: User, slug: str) -> Study:
    access = study_of(user, slug)
    if access.role != Role.ADMIN:
        raise NotAllowed("Only admins of this study can do this.")
    return access.study


def administers(user: User, study: Study) -> bool:
    """Whether this account is an admin of a study."""
    if user.is_superuser:
        return True
    return Membership.objects.filter(study=study, user_id=user.pk, role=Role.ADMIN).exists()


def check_operator(user: User) -> None:
    """What is about the whole site is for its operators (superusers), and for no token that is limited to studies."""
    if not user.is_superuser or user.only_studies is not None:
        raise NotAllowed(
            "Only those who operate this site can do this, and with no token that is limited to some studies."
        )


def rater_by_pseudonym(user: User, slug: str, pseudonym: str) -> Rater:
    """A rater of a study that this account runs."""
    study = managed_study(user, slug)
    return _first_or_404(Rater.objects.select_related("study").filter(study=study, pseudonym=pseudonym))


def membership_of(user: User, slug: str, membership_id: int) -> Membership:
    """A membership of a study that this account is admin of."""
    study = administered_study(user, slug)
    return _first_or_404(
        Membership.objects.select_related("user", "study").filter(study=study, pk=membership_id)
    )


def invitation_of(user: User, slug: str, invitation_id: int) -> Invitation:
    """An invitation to a study that this account runs."""
    study = managed_study(user, slug)
    return _first_or_404(Invitation.objects.select_related("study").filter(study=study, pk=invitation_id))


# Written out, like the other statements of the two hot requests: building them anew took longer than running them.
_RATER_AT_WORK = """
SELECT r.id, r.state, r.cursor, r.n_judgments,
       s.id, s.state, s.seed, s.n_tasks, s.lease_minutes, s.protocol_version_id,
       ARRAY(SELECT a.id FROM annotation_assignment a
             WHERE a.rater_id = r.id AND a.state = 1 AND a.expires_at > now() ORDER BY a.leased_at),
       coalesce(s.rules #> '{checks,require}' <> '[]', false),
       CASE WHEN s.rules #>> '{hints,scorer}' <> '' AND r.origin <> 'simulated'
            THEN (s.rules #>> '{hints,withheld}')::float8 END,
       p.id, p.settings
FROM annotation_rater r
JOIN annotation_study s ON s.id = r.study_id
JOIN annotation_membership m ON m.study_id = s.id AND m.user_id = r.user_id
LEFT JOIN LATERAL (SELECT v.id, v.settings FROM annotation_orderingpolicy v
                   WHERE v.study_id = s.id AND s.rules -> 'ordering' <> '{}' ORDER BY v.number DESC LIMIT 1) p ON true
WHERE r.user_id = %s AND s.slug = %s AND m.role = ANY(%s)
FOR NO KEY UPDATE OF r
"""


def rater_at_work(user: User, slug: str) -> RaterAtWork:
    """The rater that this account is in a study, locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_RATER_AT_WORK, [user.pk, slug, list(RATING_ROLES)])
        row = cursor.fetchone()
    if row is None:
        _refuse_rating(user, slug)
    check_token_study(user, row[4])
    policy = None if row[-1] is None else Ordering(**json.loads(row[-1]))
    return RaterAtWork(*(*row[:-1], policy))


_HELD_ASSIGNMENT = """
SELECT a.id, a.state, a.presentation, a.leased_at, a.protocol_version_id, a.rater_id, t.id, t.state, t.study_id,
       r.origin = 'simulated', s.archived_at IS NOT NULL OR s.deletion_due_at IS NOT NULL
FROM annotation_assignment a
JOIN annotation_rater r ON r.id = a.rater_id
JOIN annotation_membership m ON m.study_id = r.study_id AND m.user_id = r.user_id
JOIN annotation_task t ON t.id = a.task_id
JOIN annotation_study s ON s.id = t.study_id
WHERE a.id = %s AND r.user_id = %s AND m.role = ANY(%s) AND a.state = ANY(%s)
"""


def held_assignment(user: User, assignment_id: uuid.UUID, *, lock: bool = False) -> HeldAssignment:
    """The assignment this account is about to answer; locked until the transaction ends, when asked."""
    with connection.cursor() as cursor:
        cursor.execute(
            _HELD_ASSIGNMENT + ("FOR UPDATE OF a" if lock else ""),
            [assignment_id, user.pk, list(RATING_ROLES), [int(state) for state in Assignment.RATERS_OWN]],
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    *columns, read_only = row
    held = HeldAssignment(*columns)
    check_token_study(user, held.study_id)
    if read_only and changes_studies.get():
        raise Conflict(READ_ONLY, code="archived")
    return held


def rater_of(user: User, slug: str) -> Rater:
    """The rater that this account is in a study, with the study and its protocol version loaded."""
    raters = Rater.objects.select_related("study__protocol_version").filter(
        user_id=user.pk,
        study__slug=slug,
        study__memberships__user_id=user.pk,
        study__memberships__role__in=RATING_ROLES,
    )
    rater = raters.first()
    if rater is None:
        _refuse_rating(user, slug)
    check_token_study(user, rater.study_id)
    return rater


def _refuse_rating(user: User, slug: str) -> NoReturn:
    study_of(user, slug)  # not a member: there is nothing here
    raise NotAllowed("You manage this study; rating is for its annotators and experts.")


def assignment_of(user: User, assignment_id: uuid.UUID | str, *, lock: bool = False) -> Assignment:
    """A rater's own assignment, with task, study and its protocol version loaded; locked for update when asked.

    Whoever has left the study, or runs it now, has none: they may know what raters may not.
    """
    assignments = Assignment.objects.select_related("rater", "task__study", "protocol_version").filter(
        _own_as_rater(user), pk=_parse_uuid(assignment_id)
    )
    assignment = _first_or_404(assignments, lock=lock)
    check_token_study(user, assignment.rater.study_id)
    return assignment


def listening_check_of(user: User, check_id: uuid.UUID, *, lock: bool = False) -> ListeningCheck:
    """A rater's own listening check, with the rater and their study; locked for update when asked."""
    checks = ListeningCheck.objects.select_related("rater__study").filter(_own_as_rater(user), pk=check_id)
    check = _first_or_404(checks, lock=lock)
    check_token_study(user, check.rater.study_id)
    return check


def job_of(user: User, job_id: uuid.UUID | str) -> Job:
    """A job of a study that this account runs."""
    job = _first_or_404(Job.objects.select_related("study").filter(pk=_parse_uuid(job_id)))
    if job.study is None:
        if job.created_by_id != user.pk and not user.is_superuser:
            raise NotFound
        check_token_study(user, None)
        return job
    if not study_of(user, job.study.slug).manages:
        raise NotFound
    return job


def upload_of(user: User, upload_id: uuid.UUID) -> Upload:
    """What this account has brought, for no study yet or for one that it runs."""
    upload = _first_or_404(Upload.objects.select_related("study").filter(pk=upload_id, created_by_id=user.pk))
    if upload.study is not None and not study_of(user, upload.study.slug).manages:
        raise NotFound
    check_token_study(user, upload.study_id)
    return upload


def _own_as_rater(user: User) -> Q:
    """What belongs to a rater that this account is, in a study where it still rates."""
    return Q(
        rater__user_id=user.pk,
        rater__study__memberships__user_id=user.pk,
        rater__study__memberships__role__in=RATING_ROLES,
    )


def _first_or_404(rows: QuerySet[Row], *, lock: bool = False) -> Row:
    """The one row there is, locked until the transaction ends when asked. Raises NotFound where there is none."""
    row = (rows.select_for_update(of=("self",)) if lock else rows).first()
    if row is None:
        raise NotFound
    return row


def _parse_uuid(value: uuid.UUID | str) -> uuid.UUID:
    try:
        return value if isinstance(value, uuid.UUID) else uuid.UUID(value)
    except ValueError:
        raise NotFound from None


# ── Objects of a study ───────────────────────────────────────────────────────


def item_of(user: User, slug: str, item_id: int) -> Item:
    """An item of a study that this account runs."""
    study = managed_study(user, slug)
    return _first_or_404(Item.objects.filter(study=study, pk=item_id))


def task_of(user: User, slug: str, task_id: int) -> Task:
    """A task of a study that this account runs."""
    study = managed_study(user, slug)
    return _first_or_404(Task.objects.select_related("study").filter(study=study, pk=task_id))


def webhook_of(user: User, slug: str, webhook_id: int) -> Webhook:
    """A webhook of a study that this account runs."""
    study = managed_study(user, slug)
    return _first_or_404(Webhook.objects.select_related("study").filter(study=study, pk=webhook_id))


def delivery_of(user: User, slug: str, webhook_id: int, delivery_id: int) -> WebhookDelivery:
    """What was sent to a webhook of a study that this account runs."""
    webhook = webhook_of(user, slug, webhook_id)
    delivery = _first_or_404(WebhookDelivery.objects.filter(webhook=webhook, pk=delivery_id))
    delivery.webhook = webhook
    return delivery


# ── Review cases ─────────────────────────────────────────────────────────────


def study_with_review_queue(user: User, slug: str) -> StudyAccess:
    """A study whose review queue this account may see: its experts', and those who run it."""
    member = study_of(user, slug)
    if not (member.reviews or member.manages):
        raise NotAllowed("Only experts, researchers and admins of this study can see its review queue.")
    return member


def case_in_review_queue(user: User, case_id: int) -> ReviewCase:
    """A case that this account may know of, with its study, item and version. What it may see of it is another matter:
    votes and evidence only once it has judged, or runs the study."""
    related = ("study", "item", "item_version", "task", "claimed_by", "assigned_to")
    case = _first_or_404(ReviewCase.objects.select_related(*related).filter(pk=case_id))
    member = study_of(user, case.study.slug)
    if not (member.reviews or member.manages):
        raise NotFound
    return case


def case_under_review(user: User, case_id: int, *, lock: bool = False) -> ReviewCase:
    """A case as an expert works on it, with its study, item and version; locked until the transaction ends, when asked.

    Those who run a study do not review in it: they see votes as they come in, and cannot judge blind.
    """
    cases = ReviewCase.objects.select_related("study", "item", "item_version", "task").filter(pk=case_id)
    case = _first_or_404(cases, lock=lock)
    member = study_of(user, case.study.slug)
    if member.manages:
        raise NotAllowed(
            "You run this study and see its votes; reviewing is for its experts, who judge first."
        )
    if not member.reviews:
        raise NotFound
    return case


@dataclass(frozen=True)
class ReviewedItem:
    """An item whose history this account may read. `votes_up_to`: the last version of which it may know the votes,
    the evidence and the drafts; None for all of them."""

    access: StudyAccess
    item: Item
    votes_up_to: int | None

    def knows(self, version: ItemVersion) -> bool:
        """Whether this account may see the judgments of a version."""
        return self.votes_up_to is None or version.number <= self.votes_up_to


def item_in_review_queue(user: User, slug: str, item_id: int) -> ReviewedItem:
    """An item of a study, for those who may see its queue.

    Experts know of the versions that they have judged blind and those before; of nothing while a case waits that they
    have not judged. Having judged one is not enough for what came after it: that may become a case of its own. Nor is
    having judged one whose correction was undone, for those before: the item is one of these again.
    """
    member = study_with_review_queue(user, slug)
    item = _first_or_404(Item.objects.select_related("study").filter(study=member.study, pk=item_id))
    return ReviewedItem(member, item, None if member.manages else _judged_up_to(user, item))


def _judged_up_to(user: User, item: Item) -> int:
    cases = ReviewCase.objects.filter(item=item).select_related("item_version", "blind_judgment__rater")
    judged, waiting = [0], False
    for case in cases:
        if _has_judged(user, case):
            judged.append(0 if case.item_version.retracted else case.item_version.number)
        elif case.state != ReviewCase.State.RESOLVED:
            waiting = True
    return 0 if waiting else max(judged)


def _has_judged(user: User, case: ReviewCase) -> bool:
    """A case without a task has nothing to be judged: whoever is at it, or decided it, may know of it."""
    if case.task_id is None:
        return user.pk in (case.claimed_by_id, case.decided_by_id)
    rater = case.blind_judgment.rater if case.blind_judgment else None
    return rater is not None and rater.user_id == user.pk
