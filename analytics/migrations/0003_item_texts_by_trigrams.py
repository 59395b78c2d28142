"""Any part of a text is found where the server has pg_trgm; elsewhere words by their beginnings, as before."""

from __future__ import annotations

from django.db import DatabaseError, migrations, transaction

_INDEX = (
    "CREATE INDEX IF NOT EXISTS item_text_by_trigrams ON analytics_itemtext USING gin (text gin_trgm_ops)"
)


def index_where_possible(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if cursor.fetchone() is None:
            return
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            cursor.execute(_INDEX)
    except DatabaseError:  # the account may create no extension: words it is
        return


def drop_index(apps, schema_editor):
    schema_editor.execute("DROP INDEX IF EXISTS item_text_by_trigrams")


class Migration(migrations.Migration):
    dependencies = [("analytics", "0002_summaries_of_tasks_and_items")]
    operations = [migrations.RunPython(index_where_possible, drop_index)]
