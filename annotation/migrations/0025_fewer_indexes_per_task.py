"""Foreign keys that begin another index, or are empty nearly everywhere, have no index of every row.

The new indexes are there before those are dropped that they replace, and raters work on meanwhile.
"""

import django.db.models.deletion
from django.conf import settings
from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations, models

from annotation.online_indexes import AddIndexOnline, DropForeignKeyIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("annotation", "0024_explanations_by_language"),
    ]

    operations = [
        AddIndexOnline(
            model_name="candidate",
            index=models.Index(
                condition=models.Q(("clip__isnull", False)),
                fields=["clip"],
                name="candidate_clip",
            ),
        ),
        AddIndexOnline(
            model_name="candidate",
            index=models.Index(
                condition=models.Q(("carried_from__isnull", False)),
                fields=["carried_from"],
                name="candidate_carried_from",
            ),
        ),
        AddIndexOnline(
            model_name="itemversion",
            index=models.Index(
                condition=models.Q(("reference_clip__isnull", False)),
                fields=["reference_clip"],
                name="item_version_reference_clip",
            ),
        ),
        AddIndexOnline(
            model_name="itemversion",
            index=models.Index(
                condition=models.Q(("clip__isnull", False)),
                fields=["clip"],
                name="item_version_clip",
            ),
        ),
        AddIndexOnline(
            model_name="itemversion",
            index=models.Index(
                condition=models.Q(("created_by__isnull", False)),
                fields=["created_by"],
                name="item_version_created_by",
            ),
        ),
        AddIndexOnline(
            model_name="task",
            index=models.Index(
                condition=models.Q(("repeats__isnull", False)),
                fields=["repeats"],
                name="task_repeated",
            ),
        ),
        AddIndexOnline(
            model_name="task",
            index=models.Index(
                condition=models.Q(("replaces__isnull", False)),
                fields=["replaces"],
                name="task_replaced",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="candidate",
            name="carried_from",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.candidate",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="candidate",
            name="clip",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.clip",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="candidate",
            name="item_version",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="candidates",
                to="annotation.itemversion",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="itemversion",
            name="clip",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.clip",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="itemversion",
            name="created_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="itemversion",
            name="item",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="versions",
                to="annotation.item",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="itemversion",
            name="reference_clip",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.clip",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="task",
            name="repeats",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="repeated_by",
                to="annotation.task",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="task",
            name="replaces",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replaced_by",
                to="annotation.task",
            ),
        ),
        DropForeignKeyIndexOnline(
            model_name="taskcandidate",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="slots",
                to="annotation.task",
            ),
        ),
        RemoveIndexConcurrently(model_name="task", name="task_repeats"),
    ]
