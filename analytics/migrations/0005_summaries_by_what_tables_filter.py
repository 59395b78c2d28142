"""Find tasks and items by what the tables of a study's data filter."""

from __future__ import annotations

import django.contrib.postgres.indexes
from django.db import migrations, models

from annotation.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("analytics", "0004_quality_of_raters"),
    ]

    operations = [
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(fields=["study_id", "mean", "item_id"], name="item_summary_by_mean"),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                fields=["study_id", "last_judged_at", "item_id"],
                name="item_summary_by_last_judged",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("flagged", True)),
                fields=["study_id", "item_id"],
                name="item_summary_flagged",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_excluded__gt", 0)),
                fields=["study_id", "item_id"],
                name="item_summary_excluded",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_skips__gt", 0)),
                fields=["study_id", "item_id"],
                name="item_summary_skipped",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_comments__gt", 0)),
                fields=["study_id", "item_id"],
                name="item_summary_commented",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_judgments", 0)),
                fields=["study_id", "item_id"],
                name="item_summary_untouched",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_judgments__gt", 0), ("n_judgments__lt", models.F("n_wanted"))),
                fields=["study_id", "item_id"],
                name="item_summary_begun",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("n_judgments__gte", models.F("n_wanted"))),
                fields=["study_id", "item_id"],
                name="item_summary_complete",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("state", 1), _negated=True),
                fields=["study_id", "state", "item_id"],
                name="item_summary_state",
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["strata", "codes", "systems"], name="item_summary_by_parts"
            ),
        ),
        AddIndexOnline(
            model_name="itemsummary",
            index=models.Index(
                condition=models.Q(("kinds__overlap", [2, 3, 4, 5])),
                fields=["study_id", "item_id"],
                name="item_summary_kinds",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(fields=["study_id", "mean", "task_id"], name="task_summary_by_mean"),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                fields=["study_id", "last_judged_at", "task_id"],
                name="task_summary_by_last_judged",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("flagged", True)),
                fields=["study_id", "task_id"],
                name="task_summary_flagged",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_excluded__gt", 0)),
                fields=["study_id", "task_id"],
                name="task_summary_excluded",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_skips__gt", 0)),
                fields=["study_id", "task_id"],
                name="task_summary_skipped",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_comments__gt", 0)),
                fields=["study_id", "task_id"],
                name="task_summary_commented",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_judgments", 0)),
                fields=["study_id", "task_id"],
                name="task_summary_untouched",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_judgments__gt", 0), ("n_judgments__lt", models.F("n_wanted"))),
                fields=["study_id", "task_id"],
                name="task_summary_begun",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("n_judgments__gte", models.F("n_wanted"))),
                fields=["study_id", "task_id"],
                name="task_summary_complete",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("state", 1), _negated=True),
                fields=["study_id", "state", "task_id"],
                name="task_summary_state",
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["strata", "codes", "systems"], name="task_summary_by_parts"
            ),
        ),
        AddIndexOnline(
            model_name="tasksummary",
            index=models.Index(
                condition=models.Q(("kind", 1), _negated=True),
                fields=["study_id", "kind", "task_id"],
                name="task_summary_kind",
            ),
        ),
    ]
