"""What the database does beside holding tables: append-only rows, room for updates, unlogged staging, a message queue."""

from __future__ import annotations

from django.db import migrations
from pgmq.install import get_embedded_install_sql

FUNCTION = """
CREATE FUNCTION concord_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
-- TG_ARGV: the bookkeeping columns that may still change. Everything else in the row stands as it was written.
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(OLD) - TG_ARGV = to_jsonb(NEW) - TG_ARGV THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation', HINT = 'Add a new row (a revision, a version, an exclusion) instead.';
END
$$;
"""
# The tables whose rows are never changed or deleted, each with the bookkeeping columns that may change.
APPEND_ONLY = {
    "judgment": ["effective", "excluded"],
    "answer": ["counted"],
    "exclusion": [],
    "itemversion": ["retracted"],
    "candidate": [],
    "protocolversion": [],
    "question": [],
    "correction": [],
    "auditevent": [],
    "caseevent": [],
    "raterwithdrawal": [],
}
# Rows that every lease and submit updates in place: leave room on their pages.
UPDATED_IN_PLACE = ("task", "rater", "assignment")
# What is staged need not outlive a crash of the database: the import begins again. Written half as fast otherwise.
UNLOGGED = ("stagedimport", "stagedtask", "stagedsound")


def append_only(table: str, columns: list[str]) -> migrations.RunSQL:
    """The trigger that refuses changes of a table's rows, but for some columns."""
    arguments = ", ".join(f"'{column}'" for column in columns)
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION concord_append_only({arguments});",
        f"DROP TRIGGER append_only ON {table};",
    )


def alter(table: str, change: str, back: str) -> migrations.RunSQL:
    return migrations.RunSQL(
        f"ALTER TABLE annotation_{table} {change};", f"ALTER TABLE annotation_{table} {back};"
    )


def install_message_queue(apps, schema_editor):
    """pgmq, the queue inside PostgreSQL that Celery uses unless CELERY_BROKER_URL names another."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace('pgmq') IS NOT NULL")
        if not cursor.fetchone()[0]:
            # Without parameters psycopg sends the script as it is, many statements at once.
            cursor.execute(get_embedded_install_sql())


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_tables")]
    replaces = [("annotation", "0002_append_only")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION concord_append_only();"),
        *(append_only(f"annotation_{table}", columns) for table, columns in APPEND_ONLY.items()),
        *(alter(table, "SET (fillfactor = 80)", "RESET (fillfactor)") for table in UPDATED_IN_PLACE),
        *(alter(table, "SET UNLOGGED", "SET LOGGED") for table in UNLOGGED),
        migrations.RunPython(install_message_queue, migrations.RunPython.noop),
    ]
