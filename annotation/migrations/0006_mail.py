"""An outbox of e-mail, and what of it each account wants, in which language."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_labelled_invitations")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, default="", max_length=10, verbose_name="language"),
        ),
        migrations.AddField(
            model_name="user",
            name="mails_cases",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="user",
            name="mails_jobs",
            field=models.BooleanField(default=False),
        ),
        migrations.CreateModel(
            name="Mail",
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
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("invitation", "Invitation"),
                            ("added", "Added to a study"),
                            ("password_reset", "Password reset"),
                            ("address", "Change of address"),
                            ("job", "Finished job"),
                            ("cases", "Assigned review cases"),
                        ],
                        max_length=20,
                    ),
                ),
                ("to", models.EmailField(max_length=254)),
                ("subject", models.CharField(max_length=300)),
                ("text", models.TextField(blank=True)),
                ("html", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "waits to be sent"),
                            ("sent", "sent"),
                            ("failed", "could not be sent"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("n_tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("sent_at", models.DateTimeField(null=True)),
                (
                    "invitation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mails",
                        to="annotation.invitation",
                    ),
                ),
                (
                    "sent_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="annotation.study",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["due_at"],
                        name="mail_due",
                    ),
                    models.Index(fields=["sent_by", "created_at"], name="mail_by_sender"),
                    models.Index(fields=["to", "created_at"], name="mail_by_address"),
                ],
            },
        ),
    ]
