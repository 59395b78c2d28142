"""What a release keeps beside its manifest: its archive, and what is other than in the one before."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analytics", "0003_study_figure")]

    operations = [
        migrations.RemoveField(model_name="release", name="folder"),
        migrations.AddField(model_name="release", name="differences", field=models.JSONField(default=dict)),
        migrations.AddField(
            model_name="release", name="file", field=models.CharField(blank=True, default="", max_length=300)
        ),
        migrations.AddField(model_name="release", name="file_bytes", field=models.BigIntegerField(default=0)),
        migrations.AddField(
            model_name="release",
            name="file_sha256",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
    ]
