"""Read what a rater judged and skipped, the newest first, from an index in that order."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_mail"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", 3)),
                fields=["rater", "closed_at"],
                name="assignment_skipped_of_rater",
            ),
        ),
        migrations.AddIndex(
            model_name="judgment",
            index=models.Index(fields=["rater", "id"], name="judgment_rater_keyset"),
        ),
        migrations.AlterField(
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
