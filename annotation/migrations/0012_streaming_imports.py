"""Tables for what an import has read and not written yet, and for every fault that a job found."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

UNLOGGED = ("annotation_stagedimport", "annotation_stagedtask", "annotation_stagedsound")


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0011_rater_withdrawals"),
    ]

    operations = [
        migrations.CreateModel(
            name="StagedImport",
            fields=[
                ("job", models.UUIDField(primary_key=True, serialize=False)),
                ("source_mark", models.CharField(max_length=200)),
                ("place", models.TextField(default="{}")),
                ("n_entries", models.BigIntegerField(default=0)),
                ("read", models.BooleanField(default=False)),
                ("joined", models.BooleanField(default=False)),
                ("checked_to", models.BigIntegerField(default=-1)),
                ("checked", models.BooleanField(default=False)),
                ("n_problems", models.BigIntegerField(default=0)),
                ("n_judgments", models.BigIntegerField(default=0)),
                ("notes", models.JSONField(default=list)),
                ("written", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="StagedTask",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "job", "ordinal", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("job", models.UUIDField()),
                ("ordinal", models.BigIntegerField()),
                ("row", models.TextField()),
                ("task_name", models.TextField()),
                ("item_name", models.TextField()),
                ("item_hash", models.BigIntegerField()),
                ("item", models.TextField()),
                ("candidates", models.TextField()),
                ("rest", models.TextField()),
                ("said", models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="StagedSound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("job", models.UUIDField()),
                ("sound", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("clip_id", models.BigIntegerField(null=True)),
                ("created", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job", "sound"), name="staged_sound_once")],
            },
        ),
        migrations.CreateModel(
            name="JobProblem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("row", models.TextField(blank=True)),
                ("field", models.TextField(blank=True)),
                ("problem", models.TextField()),
                ("remedy", models.TextField(blank=True)),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="problems",
                        to="annotation.job",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="job_problem_in_order")
                ],
            },
        ),
        # What is staged need not outlive a crash of the database: the import begins again. Written half as fast otherwise.
        *(
            migrations.RunSQL(f"ALTER TABLE {table} SET UNLOGGED;", migrations.RunSQL.noop)
            for table in UNLOGGED
        ),
    ]
