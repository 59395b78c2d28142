"""Read what a rater judged and skipped, the newest first, from an index in that order."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

from annotation.online_indexes import AddIndexOnline, DropForeignKeyIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("annotation", "0006_mail"),
    ]

    operations = [
        AddIndexOnline(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", 3)),
                fields=["rater", "closed_at"],
                name="assignment_skipped_of_rater",
            ),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=models.Index(fields=["rater", "id"], name="judgment_rater_keyset"),
        ),
        DropForeignKeyIndexOnline(
            model_name="judgment",
            name="rater",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="judgments",
                to="annotation.rater",
            ),
        ),
    ]
