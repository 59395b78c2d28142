"""Looking many rows up by value, a batch of values at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db.models import Field, ForeignObject, Lookup, Model, QuerySet

Row = TypeVar("Row", bound=Model)
Value = TypeVar("Value")

SIZE = 5000


@ForeignObject.register_lookup
@Field.register_lookup
class AnyOf(Lookup):
    """As `__in`, with all values in one parameter: a statement of 5,000 takes longer to put together than to answer."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        side, parameters = self.process_lhs(compiler, connection)
        return f"{side} = ANY(%s)", [*parameters, list(self.rhs)]


def existing(rows: QuerySet[Any], field: str, values: Iterable[Any]) -> Iterator[Any]:
    """Those of the values that `field` has in some row."""
    for batch in batches(list(values)):
        yield from rows.filter(**{f"{field}__any_of": batch}).values_list(field, flat=True)


def in_batches(rows: QuerySet[Row], field: str, values: Sequence[Any]) -> Iterator[Row]:
    """The rows whose `field` is one of the values."""
    for batch in batches(values):
        yield from rows.filter(**{f"{field}__any_of": batch})


def batches(values: Sequence[Value], size: int = SIZE) -> Iterator[Sequence[Value]]:
    return (values[start : start + size] for start in range(0, len(values), size))
