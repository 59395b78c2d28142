"""How raters did on checks, which raters' counters hold apart from their judgments."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

KINDS = [(1, "Regular"), (2, "Training"), (3, "Gold"), (4, "Trap"), (5, "Repeat"), (6, "Identical pair")]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0014_checks_out_of_the_queue")]

    operations = [
        migrations.AlterField("task", "kind", models.PositiveSmallIntegerField(choices=KINDS, default=1)),
        migrations.AddField("rater", "n_drawn", models.IntegerField(default=0, db_default=0)),
        migrations.AddField("rater", "n_checks", models.IntegerField(default=0, db_default=0)),
        migrations.CreateModel(
            name="CheckOutcome",
            fields=[
                (
                    "judgment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="check_outcome",
                        serialize=False,
                        to="annotation.judgment",
                    ),
                ),
                ("kind", models.PositiveSmallIntegerField(choices=KINDS)),
                ("passed", models.BooleanField(null=True)),
                ("score", models.FloatField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "rater",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.rater",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="check_outcomes",
                        to="annotation.task",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["rater", "created_at"], name="check_outcome_of_rater")],
            },
        ),
    ]
