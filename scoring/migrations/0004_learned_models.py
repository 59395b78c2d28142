"""Models trained on a study's votes."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0009_ordering_and_hints"),
        ("scoring", "0003_writing"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="LearnedModel",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("kind", models.CharField(max_length=20)),
                ("number", models.PositiveIntegerField()),
                ("options", models.JSONField(default=dict)),
                ("plan", models.JSONField(default=dict)),
                ("curves", models.JSONField(default=dict)),
                ("record", models.JSONField(default=dict)),
                ("folder", models.CharField(blank=True, default="", max_length=200)),
                ("promoted_at", models.DateTimeField(blank=True, null=True)),
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
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="learned_model",
                        to="annotation.job",
                    ),
                ),
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
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="learned_models",
                        to="annotation.study",
                    ),
                ),
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
    ]
