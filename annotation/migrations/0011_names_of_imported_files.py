"""Items and candidates keep the names of the files that an import brought."""

from __future__ import annotations

from django.db import migrations, models


def _name() -> models.CharField:
    return models.CharField(blank=True, db_default="", default="", max_length=255)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0010_saved_views_of_every_list")]

    operations = [
        migrations.AddField(model_name="candidate", name="clip_file", field=_name()),
        migrations.AddField(model_name="itemversion", name="clip_file", field=_name()),
        migrations.AddField(model_name="itemversion", name="reference_clip_file", field=_name()),
    ]
