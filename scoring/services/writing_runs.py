"""Writing runs: asked for, stopped, taken up again, and how far they are. The work itself is in `writing_work`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from annotation import audit
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.models import User
from scoring.metrics.entries import Reads
from scoring.models import Writer, WritingRow, WritingRun
from scoring.services import orders, writing_publishing, writing_results, writing_rows
from scoring.services.runs import Progress

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
    check_in_use(writer)
    part = orders.checked_filter(writer.study, filter or {}, reads=Reads.SINGLE)
    if "systems" in part:
        problem = FieldProblem(
            "filter.systems", "Texts are written for items, not for systems.", "Leave it out."
        )
        raise InvalidInput(problem.message, problems=[problem])
    asked = {"anew": anew, "judged": judged} if writer.system_id is None else {}
    part |= {name: True for name, wanted in asked.items() if wanted}
    _one_request_at_a_time(writer)
    _refuse_a_second(writer, part)
    purpose = WritingRun.Purpose.ANSWERS if writer.system_id else WritingRun.Purpose.ITEMS
    run = create(writer, purpose, filter=part, publishes=publishes, actor=actor, wake=wake)
    run.n_rows = writing_rows.make(run, writer)
    if not run.n_rows:
        raise Conflict(
            "There is nothing to write: each of these items has it, has been judged, or is waited for already.",
            code="nothing_to_write",
        )
    run.save(update_fields=["n_rows"])
    record_request(run, writer, actor=actor)
    return run


def record_request(run: WritingRun, writer: Writer, *, actor: User | None) -> None:
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
        transaction.on_commit(_wake, robust=True)
    return run


def check_in_use(writer: Writer) -> None:
    """Raises InvalidInput for a writer that was retired."""
    if writer.retired:
        problem = FieldProblem("writer", f"{writer.name} was retired.", "Bring it back, or choose another.")
        raise InvalidInput(problem.message, problems=[problem])


@transaction.atomic
def cancel(run: WritingRun, *, actor: User | None) -> WritingRun:
    """Stop a run, and the publishing of what was looked at. What it has written stays; what is being written at this
    moment may still be kept, and is not published."""
    was_publishing = writing_publishing.stop(run)
    halted = writing_results.halt(run, state=WritingRun.State.CANCELLED, message="Cancelled.")
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
    transaction.on_commit(_wake, robust=True)
    run.refresh_from_db()
    return run


def progress(run: WritingRun) -> Progress:
    """Reckoned from the run's own counters: no row is looked at."""
    settled, left = run.n_settled - run.n_settled_before, run.n_rows - run.n_settled
    per_second = seconds_left = None
    if run.working_since is not None and run.worked_at is not None and settled > 0:
        elapsed = ((run.finished_at or run.worked_at) - run.working_since).total_seconds()
        per_second = settled / max(elapsed, 1e-3)
    if per_second and not run.is_finished:
        waited = (timezone.now() - run.worked_at).total_seconds() if run.worked_at else 0.0
        seconds_left = max(left / per_second - waited, 0.0)
    return Progress(run.n_rows, run.n_done, run.n_failed, per_second, seconds_left)


def cost(run: WritingRun) -> float | None:
    """What a run's tokens cost at the prices that its writer has now; None where it has none."""
    writer = run.writer
    if writer is None or (writer.price_in is None and writer.price_out is None):
        return None
    read, written = (writer.price_in or 0.0), (writer.price_out or 0.0)
    return (run.prompt_tokens * read + run.completion_tokens * written) / _PER_PRICE


def _one_request_at_a_time(writer: Writer) -> None:
    """Until this transaction ends: of two that ask for the same run at once, the second finds the first's."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_REQUEST_LOCK, writer.study_id])


def _refuse_a_second(writer: Writer, part: Mapping[str, Any]) -> None:
    same = WritingRun.objects.filter(writer=writer, filter=part, state__in=WritingRun.UNFINISHED)
    if (first := same.exclude(purpose=WritingRun.Purpose.DRAFTS).order_by("pk").first()) is not None:
        raise Conflict(
            f"Run {first.pk} of this study does the same and has not finished. Wait for it, or cancel it first.",
            code="already_under_way",
        )


def _wake() -> None:
    from scoring.tasks import write_texts  # tasks import this module

    write_texts.delay()
