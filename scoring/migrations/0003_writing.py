"""Writers, their runs and what they wrote."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_review"),
        ("scoring", "0002_engine"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Writer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "writes",
                    models.CharField(
                        choices=[
                            ("transcript", "Transcript"),
                            ("rationale", "Rationale"),
                            ("question", "Question"),
                            ("reference", "Reference answer"),
                            ("answer", "Candidate answer"),
                        ],
                        max_length=12,
                    ),
                ),
                ("backbone", models.CharField(max_length=500)),
                ("options", models.JSONField(default=dict)),
                ("prompt", models.JSONField(default=dict)),
                ("per_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("price_in", models.FloatField(blank=True, null=True)),
                ("price_out", models.FloatField(blank=True, null=True)),
                ("drafts", models.BooleanField(default=False)),
                ("retired", models.BooleanField(default=False)),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writers",
                        to="annotation.study",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="writers",
                        to="annotation.system",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WritingRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("source", models.CharField(blank=True, default="", max_length=300)),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("drafts", "Drafts for a case"),
                            ("items", "Texts of items"),
                            ("answers", "Candidate answers"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("filter", models.JSONField(default=dict)),
                ("publishes", models.BooleanField(default=False)),
                ("publishing", models.BooleanField(default=False)),
                ("identity", models.JSONField(default=dict)),
                ("n_rows", models.IntegerField(default=0)),
                ("n_done", models.IntegerField(default=0)),
                ("n_failed", models.IntegerField(default=0)),
                ("n_published", models.IntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
                ("message", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("working_since", models.DateTimeField(blank=True, null=True)),
                ("n_settled_before", models.IntegerField(default=0)),
                ("worked_at", models.DateTimeField(blank=True, null=True)),
                ("n_openings", models.PositiveSmallIntegerField(default=0)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writing_runs",
                        to="annotation.study",
                    ),
                ),
                (
                    "writer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="scoring.writer",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WritingRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("field", models.CharField(blank=True, default="", max_length=20)),
                (
                    "state",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Waiting"), (2, "Claimed"), (3, "Done"), (4, "Failed")], default=1
                    ),
                ),
                ("claim", models.BigIntegerField(blank=True, null=True)),
                ("lease_expires_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("fault", models.CharField(blank=True, default="", max_length=40)),
                ("reason", models.TextField(blank=True, default="")),
                ("text", models.TextField(blank=True, default="")),
                ("cut", models.BooleanField(default=False)),
                ("prompt_tokens", models.IntegerField(default=0)),
                ("completion_tokens", models.IntegerField(default=0)),
                ("seconds", models.FloatField(default=0.0)),
                ("written_at", models.DateTimeField(blank=True, null=True)),
                ("wanted", models.BooleanField(default=False)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                (
                    "draft",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="writing_row",
                        to="annotation.draft",
                    ),
                ),
                (
                    "item_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.itemversion",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.system",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="scoring.writingrun",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="writer",
            constraint=models.UniqueConstraint(fields=("study", "name"), name="writer_name_once_per_study"),
        ),
        migrations.AddIndex(
            model_name="writingrun",
            index=models.Index(fields=["study", "-id"], name="writing_run_by_study"),
        ),
        migrations.AddIndex(
            model_name="writingrun",
            index=models.Index(
                condition=models.Q(
                    ("state__in", ("queued", "running")), ("publishing", True), _connector="OR"
                ),
                fields=["id"],
                name="writing_run_unfinished",
            ),
        ),
        migrations.AddIndex(
            model_name="writingrow",
            index=models.Index(
                condition=models.Q(("state", 1)), fields=["run", "id"], name="writing_row_waiting"
            ),
        ),
        migrations.AddIndex(
            model_name="writingrow",
            index=models.Index(condition=models.Q(("state", 2)), fields=["run"], name="writing_row_claimed"),
        ),
        migrations.AddIndex(
            model_name="writingrow",
            index=models.Index(
                condition=models.Q(("state", 4)), fields=["run", "id"], name="writing_row_failed"
            ),
        ),
        migrations.AddIndex(
            model_name="writingrow",
            index=models.Index(
                condition=models.Q(("fault", ""), ("published_at", None), ("state", 3)),
                fields=["run", "id"],
                name="writing_row_unpublished",
            ),
        ),
        migrations.AddConstraint(
            model_name="writingrow",
            constraint=models.UniqueConstraint(
                fields=("run", "item_version", "field", "system"),
                name="writing_row_once",
                nulls_distinct=False,
            ),
        ),
    ]
