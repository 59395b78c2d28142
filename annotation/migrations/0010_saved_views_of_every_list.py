"""Saved views belong to a list: the review queue had them alone."""

from django.db import migrations, models
from django.db.models import deletion

PAGES = [
    ("review", "Review queue"),
    ("items", "Items"),
    ("tasks", "Tasks"),
    ("judgments", "Judgments"),
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0009_judgments_by_what_tables_filter")]
    operations = [
        migrations.RemoveConstraint("reviewview", "review_view_name_once_per_owner"),
        migrations.RenameModel("ReviewView", "SavedView"),
        migrations.AddField(
            "savedview", "page", models.CharField(choices=PAGES, default="review", max_length=10)
        ),
        migrations.AlterField(
            "savedview",
            "study",
            models.ForeignKey("annotation.study", deletion.CASCADE, related_name="saved_views"),
        ),
        migrations.AddConstraint(
            "savedview",
            models.UniqueConstraint(
                fields=("study", "owner", "page", "name"), name="view_name_once_per_owner"
            ),
        ),
    ]
