"""How far a webhook has come in what it is told of: a long backlog is gone on with, and webhooks take turns."""

from __future__ import annotations

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0018_names_of_the_anonymised"),
    ]

    operations = [
        migrations.AddField("webhook", "sight", models.JSONField(default=list)),
        migrations.AddField("webhook", "reached", models.JSONField(default=dict)),
        migrations.AddField(
            "webhook", "collected_at", models.DateTimeField(default=django.utils.timezone.now)
        ),
    ]
