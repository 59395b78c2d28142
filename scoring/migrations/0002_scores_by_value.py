"""Find scores by their value."""

from django.db import migrations, models

from annotation.online_indexes import AddIndexOnline


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("annotation", "0003_answers_of_every_kind"),
        ("scoring", "0001_tables"),
    ]

    operations = [
        AddIndexOnline(
            model_name="score",
            index=models.Index(fields=["scorer", "output", "value"], name="score_by_value"),
        ),
    ]
