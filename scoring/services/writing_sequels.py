"""Answers for corrected items: what follows upon a new version, in its transaction."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from annotation.models import ItemVersion, System, User
from annotation.services import versions
from scoring.models import Writer, WritingRow, WritingRun
from scoring.services import writing_runs

# One run of each writer gathers what corrections ask for, as long as it has not finished.
_GATHERS = {"corrections": True}


@transaction.atomic
def after_correction(version: ItemVersion, *, rewrite: bool, actor: User | None) -> None:
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
            _ask(writer, version, actor=actor)
            asked.add(writer.system_id or 0)
    before = System.objects.filter(candidates__item_version__item=version.item_id).exclude(pk__in=asked)
    versions.carry_over(version, list(before.distinct().order_by("pk")))


def _ask(writer: Writer, version: ItemVersion, *, actor: User | None) -> None:
    gathering = WritingRun.objects.filter(
        writer=writer, purpose=WritingRun.Purpose.ANSWERS, filter=_GATHERS, state__in=WritingRun.UNFINISHED
    )
    run = gathering.order_by("-pk").first()
    # Only a run that is still unfinished once its row is ours: nothing is asked of one that has just ended.
    if run is None or not gathering.filter(pk=run.pk).update(n_rows=F("n_rows") + 1):
        run = writing_runs.create(
            writer, WritingRun.Purpose.ANSWERS, filter=_GATHERS, publishes=True, actor=actor, n_rows=1
        )
        writing_runs.record_request(run, writer, actor=actor)
    WritingRow.objects.create(run=run, item_version=version, system=writer.system)
