"""Looking many rows up by value, a batch of values at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
Value = TypeVar("Value")

SIZE = 5000


def existing(rows: QuerySet[Any], field: str, values: Iterable[Any]) -> Iterator[Any]:
    """Those of the values that `field` has in some row."""
    for batch in batches(list(values)):
        yield from rows.filter(**{f"{field}__in": batch}).values_list(field, flat=True)


def in_batches(rows: QuerySet[Row], field: str, values: Sequence[Any]) -> Iterator[Row]:
    """The rows whose `field` is one of the values."""
    for batch in batches(values):
        yield from rows.filter(**{f"{field}__in": batch})


def batches(values: Sequence[Value], size: int = SIZE) -> Iterator[Sequence[Value]]:
    return (values[start : start + size] for start in range(0, len(values), size))
