"""Writing runs: request, cancel, retry, progress, cost. The work itself is in `worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.items import versions
from annotation.models import ItemVersion, System, User
from annotation.studies import audit
from scoring.metrics.registry import Reads
from scoring.models import Writer, WritingRow, WritingRun
from scoring.runs import validation
from scoring.runs.scoring_runs import RunProgress
from scoring.writing import claims, publishing, results, rows

_REQUEST_LOCK = 7_303_024
_PER_PRICE = 1_000_000


@transaction.atomic
def request(
    writer: Writer,
    *,
    filter: Mapping[str, Any] | None = None,
    anew: bool = False,
    judged: bool = False,
    publishes: bool = False,
    actor: User | None,
    wake: bool = True,
) -> WritingRun:
    """Record a run of a writer over its study's items, with all its rows, and wake a worker after this transaction.

    A writer of an item's field is asked about active items that lack it; `anew`, about those that have it as well;
    `judged`, also about items that somebody has judged, whose new version then is to be judged anew. A writer of
    answers is asked for an answer of its system to each current version that has none of it. `filter` is as scoring
    runs have it ({"items": [external ids], "strata": {…}}). `publishes`: texts go to the items as they come.

    Raises InvalidInput, and Conflict `already_under_way` where this writer is at the same already, `nothing_to_write`
    where no item is left to write for.
    """
    check_not_retired(writer)
    part = validation.validate_filter(writer.study, filter or {}, reads=Reads.SINGLE)
    if "systems" in part:
        problem = FieldProblem(
            "filter.systems", "Texts are written for items, not for systems.", "Leave it out."
        )
        raise InvalidInput(problem.message, problems=[problem])
    asked = {"anew": anew, "judged": judged} if writer.system_id is None else {}
    part |= {name: True for name, wanted in asked.items() if wanted}
    _lock_requests(writer)
    _refuse_duplicate(writer, part)
    purpose = WritingRun.Purpose.ANSWERS if writer.system_id else WritingRun.Purpose.ITEMS
    run = create(writer, purpose, filter=part, publishes=publishes, actor=actor, wake=wake)
    run.n_rows = rows.create_rows(run, writer)
    if not run.n_rows:
        raise Conflict(
            "There is nothing to write: each of these items has it, has been judged, or is waited for already.",
            code="nothing_to_write",
        )
    run.save(update_fields=["n_rows"])
    audit_request(run, writer, actor=actor)
    return run


def audit_request(run: WritingRun, writer: Writer, *, actor: User | None) -> None:
    """Tell of a run that now has its first rows. Drafts are told of one by one instead."""
    audit.record(
        "writing.requested", actor=actor, study=writer.study, subject=f"writing run {run.pk}",
        writer=writer.name, filter=run.filter, rows=run.n_rows, publishes=run.publishes,
    )  # fmt: skip


def create(
    writer: Writer,
    purpose: WritingRun.Purpose,
    *,
    filter: Mapping[str, Any],
    publishes: bool,
    actor: User | None,
    n_rows: int = 0,
    wake: bool = True,
) -> WritingRun:
    """Record a run of what has been checked, in the caller's transaction, which gives it its rows."""
    run = WritingRun.objects.create(
        study=writer.study, writer=writer, purpose=purpose, filter=dict(filter), publishes=publishes,
        n_rows=n_rows, created_by=actor,
    )  # fmt: skip
    if wake:
        transaction.on_commit(claims.wake_worker, robust=True)
    return run


def check_not_retired(writer: Writer) -> None:
    """Raises InvalidInput for a writer that was retired."""
    if writer.retired:
        problem = FieldProblem("writer", f"{writer.name} was retired.", "Bring it back, or choose another.")
        raise InvalidInput(problem.message, problems=[problem])


@transaction.atomic
def cancel(run: WritingRun, *, actor: User | None) -> WritingRun:
    """Stop a run, and the publishing of what was looked at. What it has written stays; what is being written at this
    moment may still be kept, and is not published."""
    was_publishing = publishing.stop_publishing(run)
    halted = results.halt_run(run, state=WritingRun.State.CANCELLED, message="Cancelled.")
    if not (halted or was_publishing):
        raise Conflict("This run has finished already.", code="finished")
    audit.record("writing.cancelled", actor=actor, study=run.study, subject=f"writing run {run.pk}")
    run.refresh_from_db()
    return run


@transaction.atomic
def retry(run: WritingRun, *, actor: User | None) -> WritingRun:
    """Try what failed once more, and go on with a run that failed or was cancelled."""
    if run.purpose == WritingRun.Purpose.DRAFTS:
        raise Conflict("A draft is asked for anew at the review desk.", code="drafts")
    run = WritingRun.objects.select_related("study", "writer").select_for_update(of=("self",), no_key=True).get(
        pk=run.pk
    )  # fmt: skip
    halted = run.state in (WritingRun.State.FAILED, WritingRun.State.CANCELLED)
    if not (halted or run.n_failed):
        raise Conflict("Nothing failed in this run, so there is nothing to try again.", code="nothing_failed")
    n_back = run.rows.filter(state=WritingRow.State.FAILED).update(
        state=WritingRow.State.WAITING, attempts=0, claim=None, fault="", reason=""
    )
    WritingRun.objects.filter(pk=run.pk).update(
        state=WritingRun.State.QUEUED, message="", finished_at=None, working_since=None,
        worked_at=timezone.now(), n_openings=0, n_failed=run.n_failed - n_back,
    )  # fmt: skip
    audit.record(
        "writing.retried", actor=actor, study=run.study, subject=f"writing run {run.pk}", rows=n_back
    )
    transaction.on_commit(claims.wake_worker, robust=True)
    run.refresh_from_db()
    return run


def progress(run: WritingRun) -> RunProgress:
    """Reckoned from the run's own counters: no row is looked at."""
    settled, left = run.n_settled - run.n_settled_before, run.n_rows - run.n_settled
    per_second = seconds_left = None
    if run.working_since is not None and run.worked_at is not None and settled > 0:
        elapsed = ((run.finished_at or run.worked_at) - run.working_since).total_seconds()
        per_second = settled / max(elapsed, 1e-3)
    if per_second and not run.is_finished:
        waited = (timezone.now() - run.worked_at).total_seconds() if run.worked_at else 0.0
        seconds_left = max(left / per_second - waited, 0.0)
    return RunProgress(run.n_rows, run.n_done, run.n_failed, per_second, seconds_left)


def cost(run: WritingRun) -> float | None:
    """What a run's tokens cost at the prices that its writer has now; None where it has none."""
    writer = run.writer
    if writer is None or (writer.price_in is None and writer.price_out is None):
        return None
    read, written = (writer.price_in or 0.0), (writer.price_out or 0.0)
    return (run.prompt_tokens * read + run.completion_tokens * written) / _PER_PRICE


def _lock_requests(writer: Writer) -> None:
    """Until this transaction ends: of two that ask for the same run at once, the second finds the first's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_REQUEST_LOCK, writer.study_id])


def _refuse_duplicate(writer: Writer, part: Mapping[str, Any]) -> None:
    same = WritingRun.objects.filter(writer=writer, filter=part, state__in=WritingRun.UNFINISHED)
    if (first := same.exclude(purpose=WritingRun.Purpose.DRAFTS).order_by("pk").first()) is not None:
        raise Conflict(
            f"Run {first.pk} of this study does the same and has not finished. Wait for it, or cancel it first.",
            code="already_under_way",
        )


# Answers for corrected items: what follows upon a new version, in its transaction.


# One run of each writer gathers what corrections ask for, as long as it has not finished.
_CORRECTIONS_FILTER = {"corrections": True}


@transaction.atomic
def rewrite_answers_of_corrected(version: ItemVersion, *, rewrite: bool, actor: User | None) -> None:
    """Have every system that has a writer here answer this version anew, and publish what it says. Answers of the other
    systems, which nobody here can ask, are carried over: their tasks would wait for ever."""
    if not rewrite:
        return
    writers = Writer.objects.filter(
        study_id=version.item.study_id, writes=Writer.Writes.ANSWER, retired=False, system__isnull=False
    )
    asked: set[int] = set()
    for writer in writers.select_related("study", "system").order_by("pk"):
        # Of two writers for one system the first.
        if writer.system_id not in asked:
            _request_answer(writer, version, actor=actor)
            asked.add(writer.system_id or 0)
    before = System.objects.filter(candidates__item_version__item=version.item_id).exclude(pk__in=asked)
    versions.carry_over(version, list(before.distinct().order_by("pk")))


def _request_answer(writer: Writer, version: ItemVersion, *, actor: User | None) -> None:
    gathering = WritingRun.objects.filter(
        writer=writer,
        purpose=WritingRun.Purpose.ANSWERS,
        filter=_CORRECTIONS_FILTER,
        state__in=WritingRun.UNFINISHED,
    )
    run = gathering.order_by("-pk").first()
    # Only a run that is still unfinished once its row is ours: nothing is asked of one that has just ended.
    if run is None or not gathering.filter(pk=run.pk).update(n_rows=F("n_rows") + 1):
        run = create(
            writer,
            WritingRun.Purpose.ANSWERS,
            filter=_CORRECTIONS_FILTER,
            publishes=True,
            actor=actor,
            n_rows=1,
        )
        audit_request(run, writer, actor=actor)
    WritingRow.objects.create(run=run, item_version=version, system=writer.system)
