"""Pairs that get more votes while they are undecided: what a task was given, and how far the sweep has looked."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_review"),
    ]

    operations = [
        migrations.CreateModel(
            name="StoppingSweep",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="annotation.study",
                    ),
                ),
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
                ("swept_at", models.DateTimeField(null=True)),
                ("n_asked", models.BigIntegerField(default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddField(
            model_name="task",
            name="overlap_added",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
