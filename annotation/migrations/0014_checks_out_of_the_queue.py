"""Only regular tasks are open in the queue; training tasks and hidden checks are drawn by other ways."""

from django.db import migrations, models
from django.db.models import F, Q

OPEN = Q(state=1) & Q(n_judgments__lt=F("overlap") - F("n_leases"))
INDEXES = {
    "task_open_in_order": ["study", "shuffle_key"],
    "task_open_by_priority": ["study", "-priority", "shuffle_key"],
}


def wants_more(condition: Q) -> models.GeneratedField:
    return models.GeneratedField(expression=condition, output_field=models.BooleanField(), db_persist=True)


def open_index(name: str) -> models.Index:
    return models.Index(fields=INDEXES[name], condition=Q(wants_more=True), name=name)


class Migration(migrations.Migration):
    dependencies = [("annotation", "0013_workspaces")]

    operations = [
        *(migrations.RemoveIndex("task", name) for name in INDEXES),
        migrations.RemoveField("task", "wants_more"),
        migrations.AddField("task", "wants_more", wants_more(Q(kind=1) & OPEN)),
        *(migrations.AddIndex("task", open_index(name)) for name in INDEXES),
        migrations.AddIndex(
            "task",
            models.Index(fields=["study", "kind"], condition=Q(kind__gt=1), name="task_checks"),
        ),
        migrations.AddIndex(
            "task", models.Index(fields=["repeats"], condition=Q(kind=5), name="task_repeats")
        ),
        migrations.RemoveField("study", "gold_rate"),
        migrations.RemoveField("study", "repeat_rate"),
    ]
