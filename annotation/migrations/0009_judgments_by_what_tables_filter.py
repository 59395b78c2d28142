"""Find judgments by time, state, comment and code."""

from __future__ import annotations

import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models

from annotation.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("annotation", "0008_confirmed_addresses"),
    ]

    operations = [
        AddIndexOnline(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", 3)),
                fields=["closed_at"],
                name="assignment_skipped",
            ),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=models.Index(fields=["study", "submitted_at", "id"], name="judgment_by_time"),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(
                    ("excluded", True),
                    ("effective", False),
                    ("origin", 4),
                    _connector="OR",
                ),
                fields=["study", "submitted_at", "id"],
                name="judgment_not_counted",
            ),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=models.Index(
                condition=models.Q(("comment", ""), _negated=True),
                fields=["study", "submitted_at", "id"],
                name="judgment_commented",
            ),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.search.SearchVector("comment", config="simple"),
                condition=models.Q(("comment", ""), _negated=True),
                name="judgment_by_comment",
            ),
        ),
        AddIndexOnline(
            model_name="judgment",
            index=django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(("codes", []), _negated=True),
                fields=["codes"],
                name="judgment_by_code",
            ),
        ),
    ]
