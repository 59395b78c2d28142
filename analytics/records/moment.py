"""Reading many batches as if at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


@contextmanager
def one_moment() -> Iterator[None]:
    """All that is read inside is as it was at the first read, whatever others commit meanwhile.

    Without it a revision that arrives between two batches could be exported twice or not at all. Inside somebody
    else's transaction the moment is theirs to keep.
    """
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield
