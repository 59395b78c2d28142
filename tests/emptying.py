"""How the database is emptied after a test that committed.

Django truncates every table, empty or not, and then makes the content types and the permissions anew: a quarter of
a second after each such test, most of it spent on tables that nobody touched.
"""

from __future__ import annotations

import time

from django.apps import apps
from django.db import OperationalError, connection, transaction
from psycopg.errors import LockNotAvailable

# Rows that the migrations leave and every test finds.
KEPT = frozenset({"django_content_type", "auth_permission"})


def empty_tables() -> None:
    """Delete the rows of every table of ours that has any. As truncating would, it waits for whoever is still at
    work in one of them, such as a request that the browser gave up, and asks no trigger."""
    deadline = time.monotonic() + 60
    while not _empty():
        assert time.monotonic() < deadline, "somebody is at work in a table and does not end"
        time.sleep(0.01)


def _empty() -> bool:
    """Whether nobody was at work. To wait for one table with others in hand could be for ever."""
    tables = _tables()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE NOWAIT")
            full = filled_tables()
            cursor.execute("SET LOCAL session_replication_role = replica")
            for table in full:
                cursor.execute(f"DELETE FROM {table}")
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


def filled_tables() -> list[str]:
    """Those of ours that have any row."""
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in _tables())
        )
        return [table for (table,) in cursor.fetchall()]


def _tables() -> list[str]:
    models = apps.get_models(include_auto_created=True)
    return sorted({model._meta.db_table for model in models} - KEPT)
