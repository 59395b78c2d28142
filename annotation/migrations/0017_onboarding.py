"""Steps before the rating: consent, demographics, guidelines read, training runs, and when a rater is cleared."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

# The append-only tables of `0002_guards`: what a rater decided about which text stands.
TRIGGER = (
    "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_{0} "
    "FOR EACH ROW EXECUTE FUNCTION concord_append_only();"
)
DROP = "DROP TRIGGER append_only ON annotation_{0};"


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0016_counters_of_regular_tasks"),
    ]

    operations = [
        migrations.AddField(
            model_name="rater",
            name="cleared_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.CreateModel(
            name="ConsentVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("texts", models.JSONField()),
                (
                    "asks",
                    models.CharField(
                        choices=[
                            ("new", "Only raters who have not consented yet"),
                            ("everybody", "Every rater, before their next task"),
                        ],
                        default="new",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consent_versions",
                        to="annotation.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Consent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("accepted", models.BooleanField()),
                ("language", models.CharField(max_length=10)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="consents",
                        to="annotation.rater",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="annotation.consentversion",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Demographics",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("answers", models.JSONField()),
                (
                    "answered_at",
                    models.DateTimeField(default=django.utils.timezone.now),
                ),
                (
                    "rater",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="demographics",
                        to="annotation.rater",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "demographics",
            },
        ),
        migrations.CreateModel(
            name="GuidelinesReading",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("read_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "protocol_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.protocolversion",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="guidelines_read",
                        to="annotation.rater",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TrainingRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("passed", "Passed"),
                            ("failed", "Failed"),
                        ],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("tasks", models.JSONField(default=list)),
                ("needed", models.PositiveSmallIntegerField()),
                ("n_correct", models.PositiveSmallIntegerField(default=0)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "revoked_for",
                    models.CharField(blank=True, default="", max_length=200),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="training_runs",
                        to="annotation.rater",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="consentversion",
            constraint=models.UniqueConstraint(
                fields=("study", "number"), name="consent_version_number_once"
            ),
        ),
        migrations.AddIndex(
            model_name="consent",
            index=models.Index(fields=["rater", "-id"], name="consent_latest_of_rater"),
        ),
        migrations.AddConstraint(
            model_name="guidelinesreading",
            constraint=models.UniqueConstraint(
                fields=("rater", "protocol_version"), name="guidelines_read_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="trainingrun",
            constraint=models.UniqueConstraint(fields=("rater", "number"), name="training_run_number_once"),
        ),
        migrations.AddConstraint(
            model_name="trainingrun",
            constraint=models.UniqueConstraint(
                condition=models.Q(("revoked_at", None), ("state", "open")),
                fields=("rater",),
                name="training_run_one_open",
            ),
        ),
        *(
            migrations.RunSQL(TRIGGER.format(table), DROP.format(table))
            for table in ("consentversion", "consent")
        ),
    ]
