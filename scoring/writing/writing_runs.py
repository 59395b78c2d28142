"""Writing runs: request, cancel, retry; answers for corrected items. The work itself is in `worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from annotation.errors import Conflict, InvalidInput
from annotation.items import versions
from annotation.models import ItemVersion, System, User
from scoring.metrics.registry import Reads
from scoring.models import Writer, WritingRow, WritingRun
from scoring.runs import validation
from scoring.writing import publishing, rows
from scoring.writing.claims import WRITING


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
        message = "Texts are written for items, not for systems."
        raise InvalidInput.of_field("filter.systems", message, "Leave it out.")
    if writer.system_id is None:
        part |= {name: True for name, extends in {"anew": anew, "judged": judged}.items() if extends}
    WRITING.lock_requests(writer.study_id)
    WRITING.refuse_duplicate(_same_runs(writer, part))
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
    WRITING.audit(
        "requested", run, actor=actor,
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
        WRITING.wake_on_commit(run.pk)
    return run


def check_not_retired(writer: Writer) -> None:
    """Raises InvalidInput for a writer that was retired."""
    if writer.retired:
        message = f"{writer.name} was retired."
        raise InvalidInput.of_field("writer", message, "Bring it back, or choose another.")


@transaction.atomic
def cancel(run: WritingRun, *, actor: User | None) -> WritingRun:
    """Stop a run, and the publishing of what was looked at. What it has written stays; what is being written at this
    moment may still be kept, and is not published."""
    return WRITING.cancel(run, actor=actor, stopped=publishing.stop_publishing(run))


def retry(run: WritingRun, *, actor: User | None) -> WritingRun:
    """Retry what failed, and go on with a run that failed or was cancelled."""
    if run.purpose == WritingRun.Purpose.DRAFTS:
        raise Conflict("A draft is asked for anew at the review desk.", code="drafts")
    return WRITING.retry(run, actor=actor)


def _same_runs(writer: Writer, part: Mapping[str, Any]) -> QuerySet[WritingRun]:
    return WritingRun.objects.filter(writer=writer, filter=part).exclude(purpose=WritingRun.Purpose.DRAFTS)


# ── answers for corrected items, in the transaction of the new version ──

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
    requested: set[int] = set()
    for writer in writers.select_related("study", "system").order_by("pk"):
        # Of two writers for one system the first.
        if writer.system_id not in requested:
            _request_answer(writer, version, actor=actor)
            requested.add(writer.system_id or 0)
    before = System.objects.filter(candidates__item_version__item=version.item_id).exclude(pk__in=requested)
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
