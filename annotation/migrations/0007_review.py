"""Stage 3: what cases, returns, drafts and corrections need."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

REPLACE = """
DROP TRIGGER append_only ON annotation_itemversion;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_itemversion
FOR EACH ROW EXECUTE FUNCTION concord_append_only({columns});
"""
EVENTS = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_caseevent
FOR EACH ROW EXECUTE FUNCTION concord_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_listening"),
    ]

    operations = [
        migrations.CreateModel(
            name="BarredRater",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "reason",
                    models.CharField(
                        choices=[("reviews", "Reviews the item"), ("saw_earlier", "Saw an earlier version")],
                        max_length=12,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="CaseEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("opened", "Opened"),
                            ("fired", "Another rule fired"),
                            ("assigned", "Assigned"),
                            ("claimed", "Claimed"),
                            ("released", "Put back"),
                            ("judged", "Judged blind"),
                            ("drafted", "Drafts asked for"),
                            ("returned", "Returned"),
                            ("came_back", "Came back"),
                            ("decided", "Decided"),
                            ("undone", "Decision undone"),
                        ],
                        max_length=10,
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="FlagSweep",
            fields=[
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="annotation.study",
                    ),
                ),
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
                ("swept_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Return",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("n_wanted", models.PositiveSmallIntegerField(default=0)),
                ("comment", models.TextField(blank=True, default="")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("changed", "Changed"),
                            ("kept", "Kept as it was"),
                            ("judged", "Judged"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("reply", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ReviewView",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("filters", models.JSONField(default=dict)),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.AddField(
            model_name="candidate",
            name="carried_from",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.candidate",
            ),
        ),
        migrations.AddField(
            model_name="candidate",
            name="provenance",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="draft",
            name="item_version",
            field=models.ForeignKey(
                default=0,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.itemversion",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="draft",
            name="problem",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="draft",
            name="requested_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="settled_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="draft",
            name="settled_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="writer",
            field=models.CharField(blank=True, default="", max_length=80),
        ),
        migrations.AddField(
            model_name="draft",
            name="written_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="itemversion",
            name="retracted",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="reviewcase",
            name="claimed_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reviewcase",
            name="decided_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reviewcase",
            name="n_returns",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="reviewcase",
            name="rules",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=40), default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="reviewcase",
            name="task",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.task",
            ),
        ),
        migrations.AddField(
            model_name="task",
            name="replaces",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replaced_by",
                to="annotation.task",
            ),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="state",
            field=models.PositiveSmallIntegerField(
                choices=[
                    (1, "Open"),
                    (2, "Submitted"),
                    (3, "Skipped"),
                    (4, "Returned"),
                    (5, "Expired"),
                    (6, "Under review"),
                    (7, "Reviewed"),
                ],
                default=1,
            ),
        ),
        migrations.AlterField(
            model_name="draft",
            name="state",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("proposed", "Proposed"),
                    ("accepted", "Accepted"),
                    ("edited", "Accepted with edits"),
                    ("rejected", "Rejected"),
                    ("unused", "Not used"),
                    ("failed", "Failed"),
                ],
                default="waiting",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="reviewcase",
            name="decision",
            field=models.CharField(
                blank=True,
                choices=[
                    ("", "Undecided"),
                    ("corrected", "Corrected"),
                    ("fine", "Fine as it is"),
                    ("withdrawn", "Item withdrawn"),
                    ("superseded", "Settled elsewhere"),
                ],
                default="",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="reviewcase",
            name="item_version",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="review_cases",
                to="annotation.itemversion",
            ),
        ),
        migrations.AlterField(
            model_name="reviewcase",
            name="study",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="review_cases",
                to="annotation.study",
            ),
        ),
        migrations.AlterField(
            model_name="reviewcase",
            name="assigned_to",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddIndex(
            model_name="reviewcase",
            index=models.Index(
                fields=["assigned_to", "study", "state", "-priority", "id"], name="review_assigned"
            ),
        ),
        migrations.AddIndex(
            model_name="reviewcase",
            index=models.Index(
                condition=models.Q(("state", "resolved"), _negated=True),
                fields=["study", "-priority", "id"],
                name="review_unresolved",
            ),
        ),
        migrations.AddIndex(
            model_name="reviewcase",
            index=django.contrib.postgres.indexes.GinIndex(fields=["rules"], name="review_by_rule"),
        ),
        migrations.AddIndex(
            model_name="reviewcase",
            index=models.Index(
                condition=models.Q(("state", "claimed")),
                fields=["claim_expires_at"],
                name="review_claim_by_expiry",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state__in", (6, 7))),
                fields=("task", "rater"),
                name="assignment_one_review",
            ),
        ),
        migrations.AddField(
            model_name="barredrater",
            name="rater",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.rater"
            ),
        ),
        migrations.AddField(
            model_name="barredrater",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="barred",
                to="annotation.task",
            ),
        ),
        migrations.AddField(
            model_name="caseevent",
            name="actor",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="caseevent",
            name="case",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="events", to="annotation.reviewcase"
            ),
        ),
        migrations.AddField(
            model_name="return",
            name="assignment",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="returns",
                to="annotation.assignment",
            ),
        ),
        migrations.AddField(
            model_name="return",
            name="case",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="returns",
                to="annotation.reviewcase",
            ),
        ),
        migrations.AddField(
            model_name="return",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="return",
            name="rater",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="returns",
                to="annotation.rater",
            ),
        ),
        migrations.AddField(
            model_name="return",
            name="task",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="returns", to="annotation.task"
            ),
        ),
        migrations.AddField(
            model_name="reviewview",
            name="owner",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="reviewview",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="review_views",
                to="annotation.study",
            ),
        ),
        migrations.AddConstraint(
            model_name="barredrater",
            constraint=models.UniqueConstraint(fields=("task", "rater"), name="barred_rater_once"),
        ),
        migrations.AddIndex(
            model_name="return",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["rater"], name="return_waiting_of_rater"
            ),
        ),
        migrations.AddConstraint(
            model_name="return",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "waiting")),
                fields=("assignment",),
                name="return_once_per_assignment",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewview",
            constraint=models.UniqueConstraint(
                fields=("study", "owner", "name"), name="review_view_name_once_per_owner"
            ),
        ),
        migrations.RunSQL(REPLACE.format(columns="'retracted'"), REPLACE.format(columns="")),
        migrations.RunSQL(EVENTS, "DROP TRIGGER append_only ON annotation_caseevent;"),
    ]
