"""Whether an account's owner has shown that mail to its address reaches them."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0007_judgments_and_skips_of_a_rater_in_order")]

    operations = [
        migrations.AddField(
            model_name="user", name="address_confirmed", field=models.BooleanField(default=False)
        )
    ]
