"""Leave room on the pages of tables whose rows are updated in place on every lease and submit."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_append_only")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE {table} SET (fillfactor = 80);", f"ALTER TABLE {table} RESET (fillfactor);"
        )
        for table in ("annotation_task", "annotation_rater", "annotation_assignment")
    ]
