"""Consent withdrawn: a rater leaves a study at their own wish, with all their judgments. There is no way back.

The wish is in force once its row is committed: the rater gets no task, no answer of theirs is taken, and no export or
release that is begun from then on has them. That their judgments leave the figures is the work of a job, which comes to
its end however many they are and however often its worker is killed. They leave by the same marks as other exclusions
do, so every figure, model and training that honours those honours this; `exclusions.mark` restores none of them.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.errors import Conflict
from annotation.jobs import jobs
from annotation.jobs.jobs import RunningJob
from annotation.models import (
    Assignment,
    Demographics,
    Exclusion,
    Job,
    Judgment,
    Rater,
    RaterWithdrawal,
    Study,
    User,
)
from annotation.rating import exclusions, leases
from annotation.studies import audit

JOB_KIND = "withdraw_rater"
EXCLUSION_REASON = "rater_withdrawn"
# How long work that came to no good end rests before it is tried anew.
_REST = timedelta(minutes=10)

Mode = RaterWithdrawal.Mode
_Row = TypeVar("_Row", bound=Model)


def without_withdrawn(rows: QuerySet[_Row], *, by: str = "rater") -> QuerySet[_Row]:
    """What raters said, for lists and pages: without those who have withdrawn. `by`: the way to the rater.

    Of the anonymised nothing is listed either: a list is in the order in which things were said, and so tells when.
    """
    return rows.exclude(**{f"{by}__state": Rater.State.WITHDRAWN})


@transaction.atomic
def withdraw(rater: Rater, *, mode: str, actor: User | None, note: str = "") -> tuple[RaterWithdrawal, Job]:
    """Record the wish and start the work that follows from it. Raises Conflict `withdrawn` the second time.

    In a transaction of its own, which locks nothing but the rater: whoever leases a task for them waits for it and then
    finds them withdrawn, so the job meets all leases that there will ever be.
    """
    locked = (
        Rater.objects.select_for_update(no_key=True, of=("self",)).select_related("study").get(pk=rater.pk)
    )
    if locked.state == Rater.State.WITHDRAWN:
        raise Conflict("This rater has been withdrawn before.", code="withdrawn")
    withdrawal = RaterWithdrawal.objects.create(
        rater=locked, mode=Mode(mode), note=note.strip(), withdrawn_by=actor, withdrawn_at=timezone.now()
    )
    # What they said about themselves goes at once, in either mode; their consent stays, as the certificate names it.
    Demographics.objects.filter(rater=locked).delete()
    before, locked.state = locked.state, Rater.State.WITHDRAWN
    locked.save(update_fields=["state"])
    audit.record(
        "rater.withdrawn", actor=actor, study=locked.study, subject=locked.pseudonym, mode=withdrawal.mode,
        before=before, withdrawal=withdrawal.pk,
    )  # fmt: skip
    job = jobs.enqueue(JOB_KIND, study=locked.study, params={"rater": locked.pk}, actor=actor)
    rater.state = locked.state
    return withdrawal, job


def run(running: RunningJob) -> dict[str, Any]:
    """The job's work; done again it finds nothing left to do."""
    rater = Rater.objects.select_related("study").get(pk=running.job.params["rater"])
    judgments = Judgment.objects.filter(rater=rater)
    running.progress(0, judgments.count(), stage="excluding")
    with transaction.atomic():
        leases.return_all([rater])
        outcome = exclusions.exclude_or_restore(
            judgments,
            study=rater.study,
            action=Exclusion.Action.EXCLUDE,
            reason=EXCLUSION_REASON,
            actor=running.job.created_by,
            subject=rater.pseudonym,
        )
        running.confirm()
    return {"rater": rater.pseudonym, "judgments": outcome.changed, "excluded_before": outcome.unchanged}


def unfinished_withdrawals() -> QuerySet[RaterWithdrawal]:
    """Those whose work is not done: something that the rater said stands, or a task is with them."""
    rater = {"rater": OuterRef("rater")}
    stands = Exists(Judgment.objects.filter(excluded=False, **rater))
    return RaterWithdrawal.objects.filter(
        stands | Exists(Assignment.objects.filter(state=Assignment.State.OPEN, **rater))
    )


def resume_withdrawals() -> int:
    """Start the work again where its job ended without doing all of it; how many were started."""
    trying = Q(state__in=Job.UNFINISHED) | Q(finished_at__gt=timezone.now() - _REST)
    n_started = 0
    for withdrawal in unfinished_withdrawals().select_related("rater__study", "withdrawn_by").order_by("pk"):
        study, params = withdrawal.rater.study, {"rater": withdrawal.rater_id}
        if not Job.objects.filter(trying, kind=JOB_KIND, study=study, params=params).exists():
            jobs.enqueue(JOB_KIND, study=study, params=params, actor=withdrawal.withdrawn_by)
            n_started += 1
    return n_started


def exclude_late_imports(study: Study, rater_ids: Collection[int], *, since: int) -> None:
    """Keep out what an import has brought, from the judgment `since` on, of raters who withdrew while it was writing:
    the job does not see it. The caller holds the locks of its tasks and of all these raters, so that whoever withdraws
    from now on waits, and their job finds everything.
    """
    withdrawn_ids = list(
        Rater.objects.filter(pk__in=rater_ids, state=Rater.State.WITHDRAWN).values_list("pk", flat=True)
    )
    if withdrawn_ids:
        exclusions.exclude_or_restore(
            Judgment.objects.filter(rater__in=withdrawn_ids, origin=Judgment.Origin.IMPORTED, pk__gte=since),
            study=study,
            action=Exclusion.Action.EXCLUDE,
            reason=EXCLUSION_REASON,
            actor=None,
            subject="import",
        )
