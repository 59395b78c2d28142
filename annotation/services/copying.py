"""Inserting thousands of rows by COPY: the import of a published study takes half the time it took by INSERT."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import connection
from django.db.models import Model
from psycopg import sql


def insert(rows: Sequence[Model]) -> None:
    """Insert new rows of one model and give them their ids, as `bulk_create` does."""
    if not rows:
        return
    meta = rows[0]._meta
    assert meta.pk is not None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
            [meta.db_table, meta.pk.column, len(rows)],
        )
        ids = [number for (number,) in cursor.fetchall()]
    for row, number in zip(rows, ids, strict=True):
        row.pk = number
        row._state.adding, row._state.db = False, connection.alias
    fields = meta.concrete_fields
    insert_values(
        meta.db_table,
        [str(field.column) for field in fields],
        (
            [field.get_db_prep_save(getattr(row, field.attname), connection) for field in fields]
            for row in rows
        ),
    )


def insert_values(table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Insert rows that are given as values, in the order of the columns."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns))
    )
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
