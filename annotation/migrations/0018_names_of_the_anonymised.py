"""What later names of an anonymised rater's judgments are made from: a secret for each withdrawal."""

from __future__ import annotations

from django.db import migrations, models

import annotation.raters.rules

# One for each row: a default would be one for all.
FILL = """
ALTER TABLE annotation_raterwithdrawal DISABLE TRIGGER append_only;
UPDATE annotation_raterwithdrawal SET salt = uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid());
ALTER TABLE annotation_raterwithdrawal ENABLE TRIGGER append_only;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0017_marks_of_a_study"),
    ]

    operations = [
        migrations.AddField(
            model_name="raterwithdrawal",
            name="salt",
            field=models.BinaryField(default=annotation.raters.rules.new_salt, max_length=32),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
