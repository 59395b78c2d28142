"""What listening needs: parts of clips, gains of judgments, roles of systems, checks of raters."""

from __future__ import annotations

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.apps.registry import Apps
from django.core.files.storage import default_storage
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from annotation.audio.parts import part_offsets


def find_parts(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    """Clips taken in before parts were: read where their frames are. One whose file is gone stays unplayable."""
    for clip in apps.get_model("annotation", "Clip").objects.filter(part_offsets=[]).iterator():
        if default_storage.exists(clip.canonical.name):
            with default_storage.open(clip.canonical.name) as file:
                clip.part_offsets = part_offsets(file)
            clip.save(update_fields=["part_offsets"])


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0005_page_items_of_a_study"),
    ]

    operations = [
        migrations.AddField(
            model_name="clip",
            name="part_offsets",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(), default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="judgment",
            name="gains",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.FloatField(), null=True, size=None
            ),
        ),
        migrations.AddField(
            model_name="system",
            name="role",
            field=models.CharField(
                choices=[
                    ("judged", "Judged"),
                    ("hidden_reference", "Hidden reference"),
                    ("anchor_3500", "Anchor, 3.5 kHz"),
                    ("anchor_7000", "Anchor, 7 kHz"),
                ],
                default="judged",
                max_length=20,
            ),
        ),
        migrations.CreateModel(
            name="ListeningCheck",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("level", "Level setting"),
                            ("left_right", "Left and right"),
                            ("antiphase", "Headphones: the quietest tone"),
                            ("huggins", "Headphones: the hidden tone"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("passed", "Passed"), ("failed", "Failed")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("trials", models.JSONField(default=list)),
                ("n_correct", models.PositiveSmallIntegerField(null=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="listening_checks",
                        to="annotation.rater",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["rater", "kind", "-finished_at"], name="listening_check_latest")
                ],
            },
        ),
        migrations.RunPython(find_parts, migrations.RunPython.noop),
    ]
