"""Let the database itself refuse to change what was released. Its file may be deleted, and so may whoever asked for it."""

from __future__ import annotations

from django.db import migrations

TRIGGER = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON analytics_release
FOR EACH ROW EXECUTE FUNCTION concord_append_only('file', 'created_by_id');
"""


class Migration(migrations.Migration):
    dependencies = [("analytics", "0004_release_files"), ("annotation", "0002_append_only")]

    operations = [migrations.RunSQL(TRIGGER, "DROP TRIGGER append_only ON analytics_release;")]
