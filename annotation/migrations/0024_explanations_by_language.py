from django.db import migrations, models

# What was written before had no language: English is what raters see who read in another one without a text.
_TO_TEXTS = """
ALTER TABLE annotation_goldkey ALTER COLUMN explanation TYPE jsonb
USING CASE explanation WHEN '' THEN '{}'::jsonb ELSE jsonb_build_object('en', explanation) END
"""
_TO_ONE = """
ALTER TABLE annotation_goldkey ALTER COLUMN explanation TYPE text
USING coalesce(explanation ->> 'en', explanation ->> 'zh-hans', '')
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0023_consent_versions_say_who_consents_anew")]

    operations = [
        migrations.RunSQL(
            _TO_TEXTS,
            _TO_ONE,
            state_operations=[
                migrations.AlterField(
                    model_name="goldkey",
                    name="explanation",
                    field=models.JSONField(blank=True, default=dict),
                )
            ],
        )
    ]
