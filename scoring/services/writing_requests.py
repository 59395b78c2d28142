"""From rows to what a writer is given."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.models import Clip, Draft, ItemVersion
from annotation.services import local_copies
from scoring.metrics.contract import ExampleError, Sound
from scoring.models import WritingRow, WritingRun
from scoring.writing.contract import WritingRequest
from scoring.writing.wording import FIELDS


def load(run: WritingRun, row_ids: Sequence[int]) -> tuple[list[WritingRequest], dict[int, ExampleError]]:
    """The requests of these rows, and why some are not to be written any more. One query."""
    rows = WritingRow.objects.filter(pk__in=row_ids).select_related("item_version__clip", "draft")
    requests: list[WritingRequest] = []
    faults: dict[int, ExampleError] = {}
    for row in rows.defer("item_version__clip__peaks").order_by("pk"):
        if row.draft is not None and row.draft.state != Draft.State.WAITING:
            faults[row.pk] = ExampleError("not_wanted", "The case was settled before this draft was written.")
        else:
            requests.append(_request(run, row))
    return requests, faults


def _request(run: WritingRun, row: WritingRow) -> WritingRequest:
    version = row.item_version
    fields = {name: text for name in FIELDS if (text := getattr(version, name).strip())}
    if note := run.filter.get("note"):
        fields["note"] = note
    return WritingRequest(row.pk, _sound(version), fields)


def _sound(version: ItemVersion) -> Sound | None:
    """What was handed in, not the canonical copy: that is what the hash names, and what models have heard of it."""
    clip: Clip | None = version.clip
    if clip is None:
        return None
    return Sound(clip.sha256, local_copies.original(clip), clip.duration_s)
