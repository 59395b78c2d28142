"""The tables of analytics. The database refuses to change what was released; its file and who asked for it may go."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

RELEASES_STAND = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON analytics_release
FOR EACH ROW EXECUTE FUNCTION concord_append_only('file', 'created_by_id');
"""


class Migration(migrations.Migration):
    replaces = [
        ("analytics", "0001_initial"),
        ("analytics", "0002_study_links"),
        ("analytics", "0003_study_figure"),
        ("analytics", "0004_release_files"),
        ("analytics", "0005_releases_stand"),
    ]

    initial = True

    dependencies = [
        ("annotation", "0002_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgreementFigure",
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
                        related_name="agreement_figures",
                        to="annotation.study",
                    ),
                ),
                ("question_key", models.CharField(max_length=40)),
                ("result", models.JSONField()),
                ("horizon", models.CharField(max_length=60)),
                ("computed_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "question_key"), name="agreement_figure_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="StudyFigure",
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
                        related_name="figures",
                        to="annotation.study",
                    ),
                ),
                ("kind", models.CharField(choices=[("overview", "Overview")], max_length=20)),
                ("result", models.JSONField()),
                ("horizon", models.CharField(max_length=60)),
                ("seconds", models.FloatField()),
                ("computed_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "kind"), name="study_figure_once_per_kind")
                ],
            },
        ),
        migrations.CreateModel(
            name="Release",
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
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="releases",
                        to="annotation.study",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("manifest", models.JSONField()),
                ("sha256", models.CharField(max_length=64)),
                ("differences", models.JSONField(default=dict)),
                ("file", models.CharField(blank=True, default="", max_length=300)),
                ("file_bytes", models.BigIntegerField(default=0)),
                ("file_sha256", models.CharField(blank=True, default="", max_length=64)),
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
                    models.UniqueConstraint(fields=("study", "number"), name="release_number_once_per_study")
                ],
            },
        ),
        migrations.RunSQL(RELEASES_STAND, "DROP TRIGGER append_only ON analytics_release;"),
    ]
