"""Columns for answers that are several options or events, and for what a question lets choose."""

from __future__ import annotations

import django.contrib.postgres.fields
from django.db import migrations, models

KINDS = [
    ("preference", "Preference"),
    ("rating", "Rating"),
    ("correctness", "Correctness"),
    ("choice", "One of several"),
    ("choices", "Several of several"),
    ("ranking", "Ranking"),
    ("events", "Events"),
    ("text", "Text"),
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0002_guards")]

    operations = [
        migrations.AddField(
            "answer",
            "selected",
            django.contrib.postgres.fields.ArrayField(models.PositiveSmallIntegerField(), null=True),
        ),
        migrations.AddField(
            "question",
            "options",
            django.contrib.postgres.fields.ArrayField(
                models.CharField(max_length=40), blank=True, db_default=[], default=list
            ),
        ),
        migrations.AlterField("question", "kind", models.CharField(choices=KINDS, max_length=12)),
    ]
