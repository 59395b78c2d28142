"""Count what servers read and write for scoring runs."""

from django.db import migrations, models

_COUNTS = ("prompt_tokens", "completion_tokens")


class Migration(migrations.Migration):
    dependencies = [("scoring", "0002_scores_by_value")]

    operations = [
        *(
            migrations.AddField("scoringrun", name, models.BigIntegerField(db_default=0, default=0))
            for name in _COUNTS
        ),
        *(
            migrations.AlterField("writingrun", name, models.BigIntegerField(db_default=0, default=0))
            for name in _COUNTS
        ),
    ]
