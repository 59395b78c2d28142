"""Call the judgments of a staged task what they are."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotation", "0025_fewer_indexes_per_task")]

    operations = [migrations.RenameField("stagedtask", "said", "judgments")]
