"""What an import brings to items that were corrected, or withdrawn, since the source was written.

The source speaks of the first version (an import checks that it does). What it says of a task that is about another
one, or about none any more, is kept but does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Q

from annotation.models import Exclusion, Item, Judgment, Study, Task
from annotation.services import exclusions
from annotation.services.corrected_texts import holds_correction
from annotation.services.import_batches import batches


def lock_items(study: Study, external_ids: Sequence[str]) -> Iterable[Item]:
    """The items that new tasks are added to, with their versions as they are and stay until the import is done."""
    for names in batches(external_ids):
        items = Item.objects.filter(study=study, external_id__in=names)
        list(items.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        yield from items.select_related("current_version")


def late(judgments: Sequence[Judgment]) -> dict[str, list[int]]:
    """Those of new judgments that are of what has changed since, by what happened to it."""
    found = {}
    for reason, changed in (("item_withdrawn", _WITHDRAWN), ("item_corrected", _CORRECTED & ~_WITHDRAWN)):
        tasks: set[int] = set()
        for task_ids in batches(sorted({judgment.task_id for judgment in judgments})):
            tasks.update(Task.objects.filter(changed, pk__in=task_ids).values_list("pk", flat=True))
        found[reason] = [judgment.pk for judgment in judgments if judgment.task_id in tasks]
    return found


def set_aside(study: Study, late: Mapping[str, Sequence[int]]) -> None:
    """Keep judgments out of the count for a reason. Holds the locks of their tasks and raters."""
    for reason, ids in late.items():
        if ids:
            exclusions.mark(
                Judgment.objects.filter(pk__in=ids),
                study=study,
                action=Exclusion.Action.EXCLUDE,
                reason=reason,
                actor=None,
                subject="import",
                by_review=True,
            )


_WITHDRAWN = Q(item_version__item__state=Item.State.WITHDRAWN)
_CORRECTED = Q(state=Task.State.WITHDRAWN) | Q(holds_correction("item_version__"))
