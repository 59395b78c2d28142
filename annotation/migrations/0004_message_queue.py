"""Install pgmq, the message queue inside PostgreSQL that Celery uses unless CELERY_BROKER_URL names another."""

from __future__ import annotations

from django.db import migrations
from pgmq.install import get_embedded_install_sql


def install(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT to_regnamespace('pgmq') IS NOT NULL")
        if not cursor.fetchone()[0]:
            # Without parameters psycopg sends the script as it is, many statements at once.
            cursor.execute(get_embedded_install_sql())


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_hot_updates")]

    operations = [migrations.RunPython(install, migrations.RunPython.noop)]
