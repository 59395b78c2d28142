"""An index of the items that have strata: the review queue's filters come from the first of them."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0015_webhooks"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="item",
            index=models.Index(
                condition=models.Q(("strata", {}), _negated=True),
                fields=["study", "id"],
                name="item_with_strata",
            ),
        ),
    ]
