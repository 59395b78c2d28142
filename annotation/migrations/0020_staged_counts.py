"""What of a staged task waits for Python: its judgments and its sounds are counted. An import under way begins again."""

from django.db import migrations, models

# A source that is not the one that was staged is read anew.
BEGIN_AGAIN = "UPDATE annotation_stagedimport SET source_mark = ''"


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_panels")]

    operations = [
        migrations.AddField("stagedtask", "n_judgments", models.IntegerField(db_default=0, default=0)),
        migrations.AddField("stagedtask", "n_sounds", models.SmallIntegerField(db_default=0, default=0)),
        migrations.AddField(
            "stagedsound", "file_name", models.CharField(max_length=255, default="", db_default="")
        ),
        migrations.RunSQL(BEGIN_AGAIN, BEGIN_AGAIN),
    ]
