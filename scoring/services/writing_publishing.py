"""From a text that is written to the item: a new version with it, or a system's answer.

What a text was written from may have changed since. Then it is not published, and the row says why; so for items that
people have judged, unless the run was asked for with them.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation import audit
from annotation.errors import Conflict, DomainError
from annotation.models import Item, ItemVersion, ReviewCase, Task, User
from annotation.services import item_locks, versions
from scoring.models import WritingRow, WritingRun
from scoring.services import writing_claims, writing_opened
from scoring.services.writing_claims import Settled

# So many are published between two looks at what else is to be done.
AT_ONCE = 20
CUT = "It was cut off at the most tokens that its writer may write. Look at it, and publish it if it will do."
# What a text was written from: once one of these is another, so is what should be written.
_GROUNDS = ("question", "reference", "prompt", "lyrics", "clip_id")


@transaction.atomic
def publish(run: WritingRun, *, cut: bool = False, actor: User | None) -> WritingRun:
    """Have a worker publish what this run has written and nobody has left out; also what was cut off, where asked.

    Raises Conflict `nothing_to_publish`, and `drafts` for a run of drafts, which only an expert publishes.
    """
    if run.purpose == WritingRun.Purpose.DRAFTS:
        raise Conflict("Drafts are published by the expert who decides the case.", code="drafts")
    run = (
        WritingRun.objects.select_related("study").select_for_update(of=("self",), no_key=True).get(pk=run.pk)
    )
    written = WritingRow.objects.filter(run=run, state=WritingRow.State.DONE, published_at=None)
    if cut:
        written.filter(fault="cut").update(fault="", reason="")
        run.filter = {**run.filter, "cut": True}
    if not written.filter(fault="").exists() and run.is_finished:
        raise Conflict("Nothing in this run waits to be published.", code="nothing_to_publish")
    run.publishes = True
    if run.is_finished:
        run.state, run.finished_at, run.message = WritingRun.State.QUEUED, None, ""
    run.save(update_fields=["publishes", "filter", "state", "finished_at", "message"])
    audit.record("writing.published", actor=actor, study=run.study, subject=f"writing run {run.pk}", cut=cut)
    transaction.on_commit(_wake, robust=True)
    return run


@transaction.atomic
def leave_out(run: WritingRun, row_id: int, *, actor: User | None) -> WritingRow:
    """Keep one text from being published. Raises Conflict `not_waiting` where it is published or left out already."""
    row = WritingRow.objects.select_for_update().filter(
        run=run, pk=row_id, state=WritingRow.State.DONE, published_at=None
    ).first()  # fmt: skip
    if row is None or row.fault not in ("", "cut"):
        raise Conflict("This text does not wait to be published any more.", code="not_waiting")
    row.fault, row.reason = "left_out", "Somebody looked at it and left it out."
    row.save(update_fields=["fault", "reason"])
    audit.record(
        "writing.left_out", actor=actor, study=run.study, subject=f"writing run {run.pk}", row=row.pk
    )
    return row


def publish_some(run: WritingRun) -> int:
    """Publish some of what waits to be, each in a transaction of its own; how many were looked at."""
    waiting = WritingRow.objects.filter(run=run, state=WritingRow.State.DONE, published_at=None, fault="")
    found = list(waiting.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
    for row_id in found:
        _publish_one(run, row_id)
    return len(found)


@transaction.atomic
def _publish_one(run: WritingRun, row_id: int) -> None:
    row = WritingRow.objects.select_for_update(skip_locked=True).filter(
        pk=row_id, state=WritingRow.State.DONE, published_at=None, fault=""
    ).first()  # fmt: skip
    if row is not None:
        writing_claims.settle(run.pk, Settled(published=int(try_publishing(run, row))))


def try_publishing(run: WritingRun, row: WritingRow) -> bool:
    """Whether the row's text is with its item now; else the row says why not. In the caller's transaction, which holds
    the row's lock and saves nothing else of it."""
    try:
        if row.cut and not run.filter.get("cut"):
            raise Conflict(CUT, code="cut")
        with transaction.atomic():
            _put(run, row)
        row.published_at = timezone.now()
    except DomainError as error:
        row.fault, row.reason = error.code[:40], error.message
    row.save(update_fields=["fault", "reason", "published_at"])
    return row.published_at is not None


def _put(run: WritingRun, row: WritingRow) -> None:
    """Raises Conflict where the item is not as it was, or not to be touched."""
    written_for = row.item_version
    item_locks.lock_cases(written_for.item_id)
    item = item_locks.lock(written_for.item_id)
    if item.state == Item.State.WITHDRAWN:
        raise Conflict("The item was withdrawn.", code="item_withdrawn")
    current = item.current_version
    assert current is not None
    if any(getattr(current, name) != getattr(written_for, name) for name in _grounds(run, row)):
        raise Conflict(
            "The item was changed after this was asked for. Start a new run for it.", code="version_changed"
        )
    if row.system is not None:
        versions.add_answer(current, row.system, row.text, provenance=provenance(run, row))
    elif getattr(current, row.field) != row.text:
        _check_untouched(run, item, current)
        versions.make(
            item, {row.field: row.text}, actor=run.created_by, written={row.field: provenance(run, row)}
        )


def _grounds(run: WritingRun, row: WritingRow) -> tuple[str, ...]:
    """What must be as it was: the field itself, and what a model was given. A file's texts stand for themselves."""
    if not row.field:
        return _GROUNDS
    return (row.field,) if run.writer_id is None else (*_GROUNDS, row.field)


def _check_untouched(run: WritingRun, item: Item, version: ItemVersion) -> None:
    unresolved = ReviewCase.objects.filter(item=item).exclude(state=ReviewCase.State.RESOLVED)
    if unresolved.exists():
        raise Conflict("The item is under review: the expert decides what it is to say.", code="under_review")
    if not run.filter.get("judged") and is_judged(version):
        raise Conflict(
            "The item has been judged meanwhile. Start a run that takes judged items too.", code="judged"
        )


def is_judged(version: ItemVersion) -> bool:
    """Whether anybody's vote about this version counts."""
    return Task.objects.filter(item_version=version, n_judgments__gt=0).exists()


def provenance(run: WritingRun, row: WritingRow) -> dict[str, Any]:
    """What wrote a text, from what and at what cost, as it is kept with the item or the answer."""
    told: dict[str, Any] = {"run": run.pk, "at": (row.written_at or timezone.now()).isoformat()}
    if run.writer is None:
        return told | {"source": run.source}
    backbone, prompt = run.identity.get("backbone", {}), run.identity.get("prompt", {})
    return told | {
        "writer": run.writer.name,
        "model": backbone.get("model") or run.writer.backbone,
        "weights": backbone.get("weights", ""),
        "prompt": {"source": prompt.get("source", ""), "digest": prompt.get("digest", "")},
        "identity": writing_opened.digest(run.identity),
        "tokens": {"prompt": row.prompt_tokens, "completion": row.completion_tokens},
        "seconds": round(row.seconds, 3),
        "cut": row.cut,
    }


def _wake() -> None:
    from scoring.tasks import write_texts  # tasks import this module

    write_texts.delay()
