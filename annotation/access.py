"""The only door from an id in a request to an object. Whoever may not see it hears that nothing is there."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from annotation.errors import NotAllowed, NotFound
from annotation.models import Assignment, Job, Membership, Rater, Study, User
from annotation.models.people import MANAGING_ROLES, RATING_ROLES, Role


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


def study_of(user: User, slug: str) -> StudyAccess:
    """Any member's view of a study; operators (superusers) count as its admins."""
    membership = (
        Membership.objects.select_related("study__protocol_version")
        .filter(user_id=user.pk, study__slug=slug)
        .first()
    )
    if membership is not None:
        return StudyAccess(membership.study, membership.role)
    if user.is_superuser and (
        study := Study.objects.select_related("protocol_version").filter(slug=slug).first()
    ):
        return StudyAccess(study, Role.ADMIN)
    raise NotFound


def managed_study(user: User, slug: str) -> Study:
    """A study that this account runs: researchers and admins. Its raters hear 403: they know it exists."""
    access = study_of(user, slug)
    if not access.manages:
        raise NotAllowed("Only researchers and admins of this study can do this.")
    return access.study


def administered_study(user: User, slug: str) -> Study:
    access = study_of(user, slug)
    if access.role != Role.ADMIN:
        raise NotAllowed("Only admins of this study can do this.")
    return access.study


def rater_of(user: User, slug: str, *, lock: bool = False) -> Rater:
    """The rater that this account is in a study, with the study and its protocol version loaded."""
    raters = Rater.objects.select_related("study__protocol_version").filter(
        user_id=user.pk,
        study__slug=slug,
        study__memberships__user_id=user.pk,
        study__memberships__role__in=RATING_ROLES,
    )
    if lock:
        raters = raters.select_for_update(of=("self",), no_key=True)
    rater = raters.first()
    if rater is not None:
        return rater
    study_of(user, slug)  # not a member: there is nothing here
    raise NotAllowed("You manage this study; rating is for its annotators and experts.")


def assignment_of(user: User, assignment_id: uuid.UUID | str, *, lock: bool = False) -> Assignment:
    """A rater's own assignment, with task, study and its protocol version loaded; locked for update when asked."""
    assignments = Assignment.objects.select_related("rater", "task__study", "protocol_version").filter(
        pk=_uuid(assignment_id), rater__user_id=user.pk
    )
    if lock:
        assignments = assignments.select_for_update(of=("self",))
    assignment = assignments.first()
    if assignment is None:
        raise NotFound
    return assignment


def job_of(user: User, job_id: uuid.UUID | str) -> Job:
    """A job of a study that this account runs."""
    job = Job.objects.select_related("study").filter(pk=_uuid(job_id)).first()
    if job is None:
        raise NotFound
    if job.study is None:
        if job.created_by_id != user.pk and not user.is_superuser:
            raise NotFound
        return job
    if not study_of(user, job.study.slug).manages:
        raise NotFound
    return job


def _uuid(value: uuid.UUID | str) -> uuid.UUID:
    try:
        return value if isinstance(value, uuid.UUID) else uuid.UUID(value)
    except ValueError:
        raise NotFound from None
