"""Whose study an exclusion or a correction is in: their lists looked through those of all studies."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models

FILL = """
ALTER TABLE annotation_exclusion DISABLE TRIGGER append_only;
UPDATE annotation_exclusion x SET study_id = j.study_id FROM annotation_judgment j WHERE j.id = x.judgment_id;
ALTER TABLE annotation_exclusion ENABLE TRIGGER append_only;
ALTER TABLE annotation_correction DISABLE TRIGGER append_only;
UPDATE annotation_correction c SET study_id = i.study_id
FROM annotation_itemversion v JOIN annotation_item i ON i.id = v.item_id WHERE v.id = c.version_after_id;
ALTER TABLE annotation_correction ENABLE TRIGGER append_only;
"""
MODELS = ("exclusion", "correction")


def study(*, null: bool) -> models.ForeignKey:
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        null=null,
        on_delete=django.db.models.deletion.CASCADE,
        related_name="+",
        to="annotation.study",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0016_items_with_strata"),
    ]

    operations = [
        *(migrations.AddField(model, "study", study(null=True)) for model in MODELS),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        *(migrations.AlterField(model, "study", study(null=False)) for model in MODELS),
        *(
            migrations.AddIndex(model, models.Index(fields=["study", "id"], name=f"{model}_study_keyset"))
            for model in MODELS
        ),
    ]
