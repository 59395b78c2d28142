"""Tasks by what a vote would teach, the chance that each had, and what a model said of it."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0008_stopping_early"),
    ]

    operations = [
        migrations.CreateModel(
            name="OrderingPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("settings", models.JSONField()),
                ("made_from", models.CharField(blank=True, default="", max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "ordering policies",
            },
        ),
        migrations.AddField(
            model_name="assignment",
            name="hint",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="assignment",
            name="hint_shown",
            field=models.BooleanField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="assignment",
            name="inclusion_probability",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="hint",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("wants_more", True)),
                fields=["study", "-priority", "shuffle_key"],
                name="task_open_by_priority",
            ),
        ),
        migrations.AddField(
            model_name="orderingpolicy",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="ordering_policies",
                to="annotation.study",
            ),
        ),
        migrations.AddField(
            model_name="assignment",
            name="policy",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.orderingpolicy",
            ),
        ),
        migrations.AddConstraint(
            model_name="orderingpolicy",
            constraint=models.UniqueConstraint(
                fields=("study", "number"), name="ordering_policy_number_once"
            ),
        ),
    ]
