"""Raters who are taken out of a study at their own wish, for good: the database refuses to alter or drop the row."""

from __future__ import annotations

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

TRIGGER = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_raterwithdrawal
FOR EACH ROW EXECUTE FUNCTION concord_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_uploads"),
    ]

    operations = [
        migrations.AlterField(
            model_name="rater",
            name="state",
            field=models.CharField(
                choices=[
                    ("active", "Active"),
                    ("paused", "Paused"),
                    ("excluded", "Excluded"),
                    ("withdrawn", "Withdrawn"),
                ],
                default="active",
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="RaterWithdrawal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("removed", "Removed: what they said is in no later export or release"),
                            (
                                "anonymised",
                                "Anonymised: it stays there without name, words, times or listening log",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                ("note", models.TextField(blank=True, default="")),
                ("withdrawn_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "rater",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="withdrawal",
                        to="annotation.rater",
                    ),
                ),
                (
                    "withdrawn_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.RunSQL(TRIGGER, "DROP TRIGGER append_only ON annotation_raterwithdrawal;"),
    ]
