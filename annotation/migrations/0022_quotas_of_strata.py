from django.db import migrations, models
from django.db.models import Value


class Migration(migrations.Migration):
    dependencies = [("annotation", "0021_places_that_were_resumed")]

    operations = [
        migrations.AddField(
            model_name="panellink",
            name="stratum_quotas",
            field=models.JSONField(blank=True, db_default=Value([], models.JSONField()), default=list),
        ),
        migrations.AddField(
            model_name="rater", name="stratum_quotas", field=models.JSONField(blank=True, null=True)
        ),
    ]
