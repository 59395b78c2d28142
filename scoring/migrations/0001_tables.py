"""The tables of scoring."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("scoring", "0001_initial"),
        ("scoring", "0002_engine"),
        ("scoring", "0003_writing"),
        ("scoring", "0004_learned_models"),
    ]

    initial = True

    dependencies = [
        ("annotation", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="Scorer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.CharField(max_length=60)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("config", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Writer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                ("per_minute", models.PositiveIntegerField(blank=True, null=True)),
                ("price_in", models.FloatField(blank=True, null=True)),
                ("price_out", models.FloatField(blank=True, null=True)),
                ("drafts", models.BooleanField(default=False)),
                ("retired", models.BooleanField(default=False)),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "name"), name="writer_name_once_per_study")
                ],
            },
        ),
        migrations.CreateModel(
            name="Score",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "scorer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="scores",
                        to="scoring.scorer",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scores",
                        to="annotation.candidate",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
                ("output", models.CharField(default="value", max_length=40)),
                ("value", models.FloatField(null=True)),
                ("distribution", models.JSONField(null=True)),
                ("provenance", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("scorer", "candidate", "other", "output"),
                        name="score_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="LearnedModel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="learned_models",
                        to="annotation.study",
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("number", models.PositiveIntegerField()),
                ("options", models.JSONField(default=dict)),
                ("plan", models.JSONField(default=dict)),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="learned_model",
                        to="annotation.job",
                    ),
                ),
                ("curves", models.JSONField(default=dict)),
                ("record", models.JSONField(default=dict)),
                ("folder", models.CharField(blank=True, default="", max_length=200)),
                (
                    "scorer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="learned_models",
                        to="scoring.scorer",
                    ),
                ),
                ("promoted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "kind", "number"), name="learned_model_number_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("promoted_at__isnull", False)),
                        fields=("study", "kind"),
                        name="learned_model_one_promoted",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoringRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
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
                ("n_rows", models.IntegerField(default=0)),
                ("n_done", models.IntegerField(default=0)),
                ("n_failed", models.IntegerField(default=0)),
                ("message", models.TextField(blank=True, default="")),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("working_since", models.DateTimeField(blank=True, null=True)),
                ("n_settled_before", models.IntegerField(default=0)),
                ("worked_at", models.DateTimeField(blank=True, null=True)),
                ("n_openings", models.PositiveSmallIntegerField(default=0)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scoring_runs",
                        to="annotation.study",
                    ),
                ),
                (
                    "scorer",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="scoring.scorer",
                    ),
                ),
                ("metric", models.CharField(max_length=60)),
                ("options", models.JSONField(default=dict)),
                ("again", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "-id"], name="run_by_study"),
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["id"],
                        name="run_unfinished",
                    ),
                ],
            },
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
                ("n_rows", models.IntegerField(default=0)),
                ("n_done", models.IntegerField(default=0)),
                ("n_failed", models.IntegerField(default=0)),
                ("message", models.TextField(blank=True, default="")),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("working_since", models.DateTimeField(blank=True, null=True)),
                ("n_settled_before", models.IntegerField(default=0)),
                ("worked_at", models.DateTimeField(blank=True, null=True)),
                ("n_openings", models.PositiveSmallIntegerField(default=0)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
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
                ("publishes", models.BooleanField(default=False)),
                ("publishing", models.BooleanField(default=False)),
                ("identity", models.JSONField(default=dict)),
                ("n_published", models.IntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "-id"], name="writing_run_by_study"),
                    models.Index(
                        condition=models.Q(
                            ("state__in", ("queued", "running")), ("publishing", True), _connector="OR"
                        ),
                        fields=["id"],
                        name="writing_run_unfinished",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScoringRow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
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
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="scoring.scoringrun",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
                ("length", models.FloatField(default=0.0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 1)), fields=["run", "length"], name="scoring_row_waiting"
                    ),
                    models.Index(
                        condition=models.Q(("state", 2)), fields=["run"], name="scoring_row_claimed"
                    ),
                    models.Index(
                        condition=models.Q(("state", 4)), fields=["run", "id"], name="scoring_row_failed"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "candidate", "other"), name="scoring_row_once", nulls_distinct=False
                    )
                ],
            },
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
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="scoring.writingrun",
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
                ("field", models.CharField(blank=True, default="", max_length=20)),
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
                ("text", models.TextField(blank=True, default="")),
                ("cut", models.BooleanField(default=False)),
                ("prompt_tokens", models.IntegerField(default=0)),
                ("completion_tokens", models.IntegerField(default=0)),
                ("seconds", models.FloatField(default=0.0)),
                ("written_at", models.DateTimeField(blank=True, null=True)),
                ("wanted", models.BooleanField(default=False)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 1)), fields=["run", "id"], name="writing_row_waiting"
                    ),
                    models.Index(
                        condition=models.Q(("state", 2)), fields=["run"], name="writing_row_claimed"
                    ),
                    models.Index(
                        condition=models.Q(("state", 4)), fields=["run", "id"], name="writing_row_failed"
                    ),
                    models.Index(
                        condition=models.Q(("fault", ""), ("published_at", None), ("state", 3)),
                        fields=["run", "id"],
                        name="writing_row_unpublished",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("run", "item_version", "field", "system"),
                        name="writing_row_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
    ]
