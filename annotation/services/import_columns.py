"""Whether a source's columns are still those of the import before it: a table that changed its shape is told of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from annotation.models import Job, Study
from annotation.services.import_orders import Order

REMEDY = "If that was not meant, mend the source or the map of its columns, and import it again."


def notes(study: Study | None, order: Order, columns: Mapping[str, str]) -> list[str]:
    """What has changed since this study was last imported into in this format."""
    if study is None or not columns:
        return []
    before = _last(study, order.format)
    changes = list(_changes(before, columns)) if before else []
    said = "; ".join(changes)
    return [f"Since the last import of {order.format}: {said}. {REMEDY}"] if changes else []


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    if added := sorted(name for name in now if name not in before):
        yield f"new columns: {', '.join(added)}"
    if missing := sorted(name for name in before if name not in now):
        yield f"missing columns: {', '.join(missing)}"
    for name in sorted(before.keys() & now.keys()):
        was, is_ = before[name], now[name]
        if was and is_ and was != is_:
            yield f"{name} holds values of another type ({is_}, before {was})"


def _last(study: Study, format: str) -> Mapping[str, str]:
    done = Job.objects.filter(
        study=study, kind="import", state=Job.State.DONE, params__format=format, report__has_key="columns"
    )
    report = done.order_by("-created_at").values_list("report", flat=True).first()
    return dict(report["columns"]) if report else {}
