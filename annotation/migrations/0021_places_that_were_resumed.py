from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0020_staged_counts")]

    operations = [
        migrations.AddField(
            model_name="place", name="resumed_at", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
