"""Addresses that hear what happens in a study, and what was sent to them."""

from __future__ import annotations

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0014_kept_answers"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
                ("address", models.CharField(max_length=2000)),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), size=None
                    ),
                ),
                ("with_answers", models.BooleanField(default=False)),
                ("active", models.BooleanField(default=True)),
                (
                    "paused",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Not paused"),
                            ("gone", "The address answered 410 Gone"),
                            ("failing", "No delivery succeeded for days"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                ("seed", models.BinaryField(max_length=32)),
                ("old_seed", models.BinaryField(max_length=32, null=True)),
                ("old_seed_until", models.DateTimeField(null=True)),
                ("n_failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("hold_until", models.DateTimeField(null=True)),
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
                        related_name="webhooks",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("delivery_id", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("source", models.CharField(max_length=60)),
                ("event", models.CharField(max_length=60)),
                ("body", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("dropped", "Dropped: its rater has withdrawn"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("n_tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tried_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("duration_ms", models.PositiveIntegerField(null=True)),
                ("answer", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "rater",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.rater",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="annotation.webhook",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["webhook", "due_at"],
                        name="delivery_waiting",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("webhook", "source"), name="webhook_event_once")
                ],
            },
        ),
    ]
