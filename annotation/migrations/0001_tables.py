"""The tables of annotation."""

from __future__ import annotations

import uuid

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotation.models.people
import annotation.models.study
import annotation.raters.rules


class Migration(migrations.Migration):
    replaces = [
        ("annotation", "0001_initial"),
        ("annotation", "0003_hot_updates"),
        ("annotation", "0004_message_queue"),
        ("annotation", "0005_page_items_of_a_study"),
        ("annotation", "0006_listening"),
        ("annotation", "0007_review"),
        ("annotation", "0008_stopping_early"),
        ("annotation", "0009_ordering_and_hints"),
        ("annotation", "0010_uploads"),
        ("annotation", "0011_rater_withdrawals"),
        ("annotation", "0012_streaming_imports"),
        ("annotation", "0013_api_tokens"),
        ("annotation", "0014_kept_answers"),
        ("annotation", "0015_webhooks"),
        ("annotation", "0016_items_with_strata"),
        ("annotation", "0017_marks_of_a_study"),
        ("annotation", "0018_names_of_the_anonymised"),
        ("annotation", "0019_webhook_passes"),
    ]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="StagedImport",
            fields=[
                ("job", models.UUIDField(primary_key=True, serialize=False)),
                ("source_mark", models.CharField(max_length=200)),
                ("place", models.TextField(default="{}")),
                ("n_entries", models.BigIntegerField(default=0)),
                ("read", models.BooleanField(default=False)),
                ("joined", models.BooleanField(default=False)),
                ("checked_to", models.BigIntegerField(default=-1)),
                ("checked", models.BooleanField(default=False)),
                ("n_problems", models.BigIntegerField(default=0)),
                ("n_judgments", models.BigIntegerField(default=0)),
                ("notes", models.JSONField(default=list)),
                ("written", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="StagedTask",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "job", "ordinal", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("job", models.UUIDField()),
                ("ordinal", models.BigIntegerField()),
                ("row", models.TextField()),
                ("task_name", models.TextField()),
                ("item_name", models.TextField()),
                ("item_hash", models.BigIntegerField()),
                ("item", models.TextField()),
                ("candidates", models.TextField()),
                ("rest", models.TextField()),
                ("said", models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="StagedSound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("job", models.UUIDField()),
                ("sound", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("clip_id", models.BigIntegerField(null=True)),
                ("created", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("job", "sound"), name="staged_sound_once")],
            },
        ),
        migrations.CreateModel(
            name="Clip",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("sha256", models.CharField(max_length=64, unique=True)),
                ("canonical_sha256", models.CharField(max_length=64)),
                ("original", models.FileField(max_length=200, upload_to="")),
                ("canonical", models.FileField(max_length=200, upload_to="")),
                ("source_codec", models.CharField(max_length=40)),
                ("source_sample_rate", models.PositiveIntegerField()),
                ("channels", models.PositiveSmallIntegerField()),
                ("n_samples", models.BigIntegerField()),
                ("duration_s", models.FloatField()),
                ("n_bytes", models.BigIntegerField()),
                ("silent", models.BooleanField(default=False)),
                ("loudness_lufs", models.FloatField(blank=True, null=True)),
                ("true_peak_dbtp", models.FloatField(blank=True, null=True)),
                ("peaks", models.BinaryField()),
                (
                    "part_offsets",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True, verbose_name="e-mail address")),
                ("name", models.CharField(blank=True, max_length=150, verbose_name="name")),
                ("is_staff", models.BooleanField(default=False)),
                ("is_active", models.BooleanField(default=True)),
                ("may_create_studies", models.BooleanField(default=False)),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=16)),
                ("sha256", models.CharField(max_length=64, unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("read", "Read"),
                                ("rate", "Rate"),
                                ("review", "Review"),
                                ("manage", "Manage"),
                            ],
                            max_length=10,
                        ),
                        size=None,
                    ),
                ),
                (
                    "study_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), blank=True, null=True, size=None
                    ),
                ),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=64)),
                ("request_sha256", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField()),
                ("body", models.TextField(null=True)),
                ("created_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "name"), name="kept_answer_once_per_key")
                ],
            },
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("title", models.CharField(max_length=200, verbose_name="title")),
                ("description", models.TextField(blank=True, verbose_name="description")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("running", "Running"),
                            ("paused", "Paused"),
                            ("closed", "Closed"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                (
                    "overlap",
                    models.PositiveSmallIntegerField(
                        default=3,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                        verbose_name="overlap",
                    ),
                ),
                (
                    "order",
                    models.CharField(
                        choices=[
                            ("shuffled", "Shuffled: every rater starts somewhere else"),
                            ("listed", "As listed: every rater starts at the first item"),
                        ],
                        default="shuffled",
                        max_length=10,
                        verbose_name="order",
                    ),
                ),
                (
                    "lease_minutes",
                    models.PositiveSmallIntegerField(
                        default=15,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(600),
                        ],
                        verbose_name="minutes to finish a task",
                    ),
                ),
                ("gold_rate", models.FloatField(default=0.0)),
                ("repeat_rate", models.FloatField(default=0.0)),
                ("rules", models.JSONField(blank=True, default=dict)),
                ("seed", models.BigIntegerField(default=annotation.models.study.new_seed)),
                ("n_items", models.IntegerField(default=0)),
                ("n_tasks", models.IntegerField(default=0)),
                ("n_unnamed_judgments", models.IntegerField(default=0)),
                ("n_unnamed_tasks_filled", models.IntegerField(default=0)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "studies",
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.study",
                    ),
                ),
                ("action", models.CharField(max_length=60)),
                ("subject", models.CharField(blank=True, max_length=120)),
                ("data", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [models.Index(fields=["study", "-id"], name="audit_by_study")],
            },
        ),
        migrations.CreateModel(
            name="Upload",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.study",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("source", models.CharField(max_length=500)),
                ("name", models.CharField(max_length=200)),
                ("n_files", models.PositiveIntegerField()),
                ("n_bytes", models.BigIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="System",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="systems",
                        to="annotation.study",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("judged", "Judged"),
                            ("hidden_reference", "Hidden reference"),
                            ("anchor_3500", "Anchor, 3.5 kHz"),
                            ("anchor_7000", "Anchor, 7 kHz"),
                        ],
                        default="judged",
                        max_length=20,
                    ),
                ),
                ("description", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "name"), name="system_name_once_per_study")
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                ("kind", models.CharField(max_length=20)),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="jobs",
                        to="annotation.study",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("params", models.JSONField(default=dict)),
                ("stage", models.CharField(blank=True, default="", max_length=40)),
                ("done", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(blank=True, null=True)),
                ("report", models.JSONField(default=dict)),
                ("message", models.TextField(blank=True, default="")),
                ("lease_token", models.UUIDField(blank=True, null=True)),
                ("lease_expires_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ("queued", "running"))),
                        fields=["created_at"],
                        name="job_unfinished",
                    ),
                    models.Index(fields=["study", "-created_at"], name="job_by_study"),
                ],
            },
        ),
        migrations.CreateModel(
            name="FlagSweep",
            fields=[
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
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
                ("swept_at", models.DateTimeField(null=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="StoppingSweep",
            fields=[
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
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
                ("swept_at", models.DateTimeField(null=True)),
                ("n_asked", models.BigIntegerField(default=0)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="annotation.study",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("annotator", "Annotator"),
                            ("expert", "Expert"),
                            ("researcher", "Researcher"),
                            ("admin", "Admin"),
                        ],
                        max_length=12,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "study"), name="membership_one_role_per_study")
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="annotation.study",
                    ),
                ),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("annotator", "Annotator"),
                            ("expert", "Expert"),
                            ("researcher", "Researcher"),
                            ("admin", "Admin"),
                        ],
                        max_length=12,
                    ),
                ),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                ("max_uses", models.PositiveIntegerField(default=1)),
                ("uses", models.PositiveIntegerField(default=0)),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="Rater",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="raters",
                        to="annotation.study",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="raters",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "pseudonym",
                    models.CharField(default=annotation.models.people.new_pseudonym, max_length=40),
                ),
                ("external_id", models.CharField(blank=True, default="", max_length=200)),
                (
                    "origin",
                    models.CharField(
                        choices=[("person", "Person"), ("imported", "Imported"), ("simulated", "Simulated")],
                        default="person",
                        max_length=10,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("paused", "Paused"),
                            ("excluded", "Excluded"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("cursor", models.FloatField(default=0.0)),
                ("n_judgments", models.IntegerField(default=0)),
                ("n_surplus", models.IntegerField(default=0)),
                ("n_skips", models.IntegerField(default=0)),
                ("n_tasks_filled", models.IntegerField(default=0)),
                ("last_judgment_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "pseudonym"), name="rater_pseudonym_once_per_study"
                    ),
                    models.UniqueConstraint(fields=("study", "user"), name="rater_user_once_per_study"),
                    models.UniqueConstraint(
                        condition=models.Q(("external_id", ""), _negated=True),
                        fields=("study", "external_id"),
                        name="rater_external_id_once_per_study",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProtocolVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="protocol_versions",
                        to="annotation.study",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("preset", models.CharField(max_length=40)),
                ("definition", models.JSONField()),
                ("definition_sha256", models.CharField(max_length=64)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("study", "number"), name="protocol_version_number_once")
                ],
            },
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
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="review_views",
                        to="annotation.study",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("filters", models.JSONField(default=dict)),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "owner", "name"), name="review_view_name_once_per_owner"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="OrderingPolicy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ordering_policies",
                        to="annotation.study",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("settings", models.JSONField()),
                ("made_from", models.CharField(blank=True, default="", max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "verbose_name_plural": "ordering policies",
                "constraints": [
                    models.UniqueConstraint(fields=("study", "number"), name="ordering_policy_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("seen", models.JSONField(default=dict)),
                ("ahead", models.JSONField(default=dict)),
                ("ahead_until", models.BigIntegerField(default=0)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhooks",
                        to="annotation.study",
                    ),
                ),
                ("address", models.CharField(max_length=2000)),
                ("description", models.CharField(blank=True, default="", max_length=200)),
                (
                    "events",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=60), size=None
                    ),
                ),
                ("with_answers", models.BooleanField(default=False)),
                ("active", models.BooleanField(default=True)),
                (
                    "paused",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "Not paused"),
                            ("gone", "The address answered 410 Gone"),
                            ("failing", "No delivery succeeded for days"),
                        ],
                        default="",
                        max_length=10,
                    ),
                ),
                ("seed", models.BinaryField(max_length=32)),
                ("old_seed", models.BinaryField(max_length=32, null=True)),
                ("old_seed_until", models.DateTimeField(null=True)),
                ("n_failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("hold_until", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("sight", models.JSONField(default=list)),
                ("reached", models.JSONField(default=dict)),
                ("collected_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="JobProblem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="problems",
                        to="annotation.job",
                    ),
                ),
                ("number", models.BigIntegerField()),
                ("row", models.TextField(blank=True)),
                ("field", models.TextField(blank=True)),
                ("problem", models.TextField()),
                ("remedy", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("job", "number"), name="job_problem_in_order")
                ],
            },
        ),
        migrations.CreateModel(
            name="ListeningCheck",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="listening_checks",
                        to="annotation.rater",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("level", "Level setting"),
                            ("left_right", "Left and right"),
                            ("antiphase", "Headphones: the quietest tone"),
                            ("huggins", "Headphones: the hidden tone"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("passed", "Passed"), ("failed", "Failed")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("trials", models.JSONField(default=list)),
                ("n_correct", models.PositiveSmallIntegerField(null=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["rater", "kind", "-finished_at"], name="listening_check_latest")
                ],
            },
        ),
        migrations.CreateModel(
            name="RaterWithdrawal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "rater",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="withdrawal",
                        to="annotation.rater",
                    ),
                ),
                (
                    "mode",
                    models.CharField(
                        choices=[
                            ("removed", "Removed: what they said is in no later export or release"),
                            (
                                "anonymised",
                                "Anonymised: it stays there without name, words, times or listening log",
                            ),
                        ],
                        max_length=10,
                    ),
                ),
                ("note", models.TextField(blank=True, default="")),
                (
                    "withdrawn_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("withdrawn_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("salt", models.BinaryField(default=annotation.raters.rules.new_salt, max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="Question",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "protocol_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="annotation.protocolversion",
                    ),
                ),
                ("key", models.CharField(max_length=40)),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("preference", "Preference"),
                            ("rating", "Rating"),
                            ("correctness", "Correctness"),
                            ("events", "Events"),
                            ("text", "Text"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "level",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("nominal", "Nominal"),
                            ("ordinal", "Ordinal"),
                            ("interval", "Interval"),
                            ("ratio", "Ratio"),
                            ("", "Not measured"),
                        ],
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                (
                    "points",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), blank=True, default=list, size=None
                    ),
                ),
            ],
            options={
                "ordering": ["protocol_version_id", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("protocol_version", "key"), name="question_key_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="annotation.webhook",
                    ),
                ),
                ("delivery_id", models.UUIDField(default=uuid.uuid4, unique=True)),
                ("source", models.CharField(max_length=60)),
                ("event", models.CharField(max_length=60)),
                (
                    "rater",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.rater",
                    ),
                ),
                ("body", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("failed", "Failed"),
                            ("dropped", "Dropped: its rater has withdrawn"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("n_tries", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("tried_at", models.DateTimeField(null=True)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("duration_ms", models.PositiveIntegerField(null=True)),
                ("answer", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["webhook", "-id"], name="delivery_by_webhook"),
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["webhook", "due_at"],
                        name="delivery_waiting",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("webhook", "source"), name="webhook_event_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="annotation.study",
                    ),
                ),
                ("external_id", models.CharField(max_length=300)),
                (
                    "state",
                    models.CharField(
                        choices=[("active", "Active"), ("withdrawn", "Withdrawn")],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("strata", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "id"], name="item_study_keyset"),
                    models.Index(
                        condition=models.Q(("strata", {}), _negated=True),
                        fields=["study", "id"],
                        name="item_with_strata",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "external_id"), name="item_external_id_once_per_study"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="annotation.item",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(default=1)),
                ("prompt", models.TextField(blank=True)),
                ("lyrics", models.TextField(blank=True)),
                (
                    "reference_clip",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.clip",
                    ),
                ),
                ("question", models.TextField(blank=True)),
                ("reference", models.TextField(blank=True)),
                ("rationale", models.TextField(blank=True)),
                ("transcript", models.TextField(blank=True)),
                (
                    "clip",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.clip",
                    ),
                ),
                ("extra", models.JSONField(blank=True, default=dict)),
                ("content_sha256", models.CharField(max_length=64)),
                ("retracted", models.BooleanField(default=False)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("item", "number"), name="item_version_number_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "item_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="candidates",
                        to="annotation.itemversion",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="annotation.system",
                    ),
                ),
                ("take", models.PositiveSmallIntegerField(default=1)),
                ("text", models.TextField(blank=True)),
                (
                    "clip",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.clip",
                    ),
                ),
                (
                    "carried_from",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
                ("provenance", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("item_version", "system", "take"), name="candidate_take_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="annotation.study",
                    ),
                ),
                (
                    "item_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tasks",
                        to="annotation.itemversion",
                    ),
                ),
                ("external_id", models.CharField(max_length=300)),
                (
                    "kind",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Regular"), (2, "Training"), (3, "Gold"), (4, "Trap"), (5, "Repeat")],
                        default=1,
                    ),
                ),
                (
                    "state",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Ready"), (2, "Held back"), (3, "Withdrawn")], default=1
                    ),
                ),
                (
                    "repeats",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeated_by",
                        to="annotation.task",
                    ),
                ),
                (
                    "replaces",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replaced_by",
                        to="annotation.task",
                    ),
                ),
                ("overlap", models.PositiveSmallIntegerField()),
                ("overlap_added", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("n_judgments", models.PositiveSmallIntegerField(default=0)),
                ("n_leases", models.PositiveSmallIntegerField(default=0)),
                ("order_balance", models.SmallIntegerField(default=0)),
                ("n_draws", models.PositiveIntegerField(default=0)),
                ("shuffle_key", models.FloatField()),
                ("priority", models.FloatField(default=0.0)),
                ("hint", models.JSONField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "wants_more",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Q(
                            ("state", 1),
                            (
                                "n_judgments__lt",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("overlap"), "-", models.F("n_leases")
                                ),
                            ),
                        ),
                        output_field=models.BooleanField(),
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("wants_more", True)),
                        fields=["study", "shuffle_key"],
                        name="task_open_in_order",
                    ),
                    models.Index(
                        condition=models.Q(("wants_more", True)),
                        fields=["study", "-priority", "shuffle_key"],
                        name="task_open_by_priority",
                    ),
                    models.Index(fields=["study", "id"], name="task_study_keyset"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "external_id"), name="task_external_id_once_per_study"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "n_judgments__lte",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("overlap"), "-", models.F("n_leases")
                                ),
                            )
                        ),
                        name="task_overlap_never_exceeded",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                (
                    "id",
                    models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="annotation.task",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="assignments",
                        to="annotation.rater",
                    ),
                ),
                (
                    "protocol_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.protocolversion",
                    ),
                ),
                ("pass_number", models.PositiveSmallIntegerField(default=1)),
                (
                    "state",
                    models.PositiveSmallIntegerField(
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
                (
                    "presentation",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(), size=None
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.orderingpolicy",
                    ),
                ),
                ("inclusion_probability", models.FloatField(blank=True, null=True)),
                ("hint", models.JSONField(blank=True, null=True)),
                ("hint_shown", models.BooleanField(blank=True, null=True)),
                ("leased_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("skip_reason", models.CharField(blank=True, default="", max_length=40)),
                ("skip_comment", models.TextField(blank=True, default="")),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", 1)),
                        fields=["rater", "leased_at"],
                        name="assignment_open_of_rater",
                    ),
                    models.Index(
                        condition=models.Q(("state", 1)),
                        fields=["expires_at"],
                        name="assignment_open_by_expiry",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", (1, 2, 3))),
                        fields=("task", "rater", "pass_number"),
                        name="assignment_once_per_pass",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", (6, 7))),
                        fields=("task", "rater"),
                        name="assignment_one_review",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TaskCandidate",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="slots",
                        to="annotation.task",
                    ),
                ),
                ("slot", models.PositiveSmallIntegerField()),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
            ],
            options={
                "ordering": ["task_id", "slot"],
                "constraints": [models.UniqueConstraint(fields=("task", "slot"), name="task_slot_once")],
            },
        ),
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
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="barred",
                        to="annotation.task",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.rater"
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
            options={
                "constraints": [models.UniqueConstraint(fields=("task", "rater"), name="barred_rater_once")],
            },
        ),
        migrations.CreateModel(
            name="GoldKey",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="gold_keys",
                        to="annotation.task",
                    ),
                ),
                ("question_key", models.CharField(max_length=40)),
                ("choice", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("value", models.FloatField(blank=True, null=True)),
                ("tolerance", models.FloatField(default=0.0)),
                ("explanation", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("task", "question_key"), name="gold_key_once_per_question"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Judgment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="annotation.study",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="annotation.task",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="annotation.rater",
                    ),
                ),
                (
                    "assignment",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgments",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "protocol_version",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.protocolversion",
                    ),
                ),
                ("client_id", models.UUIDField(default=uuid.uuid4)),
                ("payload_sha256", models.BinaryField(max_length=32)),
                (
                    "origin",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Rated here"), (2, "Imported"), (3, "Simulated"), (4, "Expert's own")],
                        default=1,
                    ),
                ),
                ("revision", models.PositiveSmallIntegerField(default=1)),
                ("effective", models.BooleanField(default=True)),
                ("excluded", models.BooleanField(default=False)),
                ("surplus", models.BooleanField(default=False)),
                (
                    "presentation",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.PositiveSmallIntegerField(), null=True, size=None
                    ),
                ),
                (
                    "codes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16), default=list, size=None
                    ),
                ),
                ("comment", models.TextField(blank=True, default="")),
                (
                    "gains",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.FloatField(), null=True, size=None
                    ),
                ),
                ("telemetry", models.JSONField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("submitted_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["study", "id"], name="judgment_study_keyset")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("task", "client_id"), name="judgment_client_id_once_per_task"
                    ),
                    models.UniqueConstraint(
                        fields=("assignment", "revision"), name="judgment_revision_once_per_assignment"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "judgment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="answers",
                        to="annotation.judgment",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.task",
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.question",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.candidate",
                    ),
                ),
                (
                    "choice",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "First"), (2, "Second"), (3, "Tie"), (4, "Both bad")], null=True
                    ),
                ),
                ("value", models.FloatField(null=True)),
                ("confidence", models.FloatField(null=True)),
                ("text", models.TextField(blank=True, default="")),
                ("events", models.JSONField(null=True)),
                ("counted", models.BooleanField(default=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("counted", True)),
                        fields=["question", "task"],
                        name="answer_counted_by_question",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("judgment", "question", "candidate"),
                        name="answer_once_per_question",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Exclusion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.study",
                    ),
                ),
                (
                    "judgment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exclusions",
                        to="annotation.judgment",
                    ),
                ),
                (
                    "action",
                    models.CharField(choices=[("exclude", "Exclude"), ("restore", "Restore")], max_length=10),
                ),
                ("reason", models.CharField(max_length=40)),
                ("comment", models.TextField(blank=True, default="")),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["study", "id"], name="exclusion_study_keyset")],
            },
        ),
        migrations.CreateModel(
            name="ReviewCase",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="review_cases",
                        to="annotation.study",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="review_cases",
                        to="annotation.item",
                    ),
                ),
                (
                    "item_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review_cases",
                        to="annotation.itemversion",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.task",
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("claimed", "Claimed"),
                            ("returned", "Returned"),
                            ("resolved", "Resolved"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "decision",
                    models.CharField(
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
                ("priority", models.FloatField(default=0.0)),
                (
                    "rules",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), default=list, size=None
                    ),
                ),
                (
                    "assigned_to",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "claimed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("claim_expires_at", models.DateTimeField(blank=True, null=True)),
                (
                    "blind_judgment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.judgment",
                    ),
                ),
                ("n_returns", models.PositiveSmallIntegerField(default=0)),
                ("comment", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "decided_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["study", "state", "-priority", "id"], name="review_queue"),
                    models.Index(
                        condition=models.Q(("state", "resolved"), _negated=True),
                        fields=["study", "-priority", "id"],
                        name="review_unresolved",
                    ),
                    models.Index(
                        fields=["assigned_to", "study", "state", "-priority", "id"], name="review_assigned"
                    ),
                    django.contrib.postgres.indexes.GinIndex(fields=["rules"], name="review_by_rule"),
                    models.Index(
                        condition=models.Q(("state", "claimed")),
                        fields=["claim_expires_at"],
                        name="review_claim_by_expiry",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "resolved"), _negated=True),
                        fields=("item_version",),
                        name="review_case_one_unresolved_per_version",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseReason",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reasons",
                        to="annotation.reviewcase",
                    ),
                ),
                ("rule", models.CharField(max_length=40)),
                ("evidence", models.JSONField(default=dict)),
                ("fired_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("case", "rule"), name="case_reason_once_per_rule")
                ],
            },
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
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="annotation.reviewcase",
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
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
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
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="returns",
                        to="annotation.reviewcase",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="returns",
                        to="annotation.task",
                    ),
                ),
                (
                    "assignment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="returns",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "rater",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="returns",
                        to="annotation.rater",
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
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["rater"],
                        name="return_waiting_of_rater",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")),
                        fields=("assignment",),
                        name="return_once_per_assignment",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="annotation.reviewcase",
                    ),
                ),
                (
                    "item_version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.itemversion",
                    ),
                ),
                ("field", models.CharField(max_length=20)),
                ("writer", models.CharField(blank=True, default="", max_length=80)),
                ("text", models.TextField(blank=True, default="")),
                ("provenance", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
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
                ("problem", models.TextField(blank=True, default="")),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "settled_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("written_at", models.DateTimeField(blank=True, null=True)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Correction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.study",
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="corrections",
                        to="annotation.reviewcase",
                    ),
                ),
                (
                    "version_before",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.itemversion",
                    ),
                ),
                (
                    "version_after",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="corrections",
                        to="annotation.itemversion",
                    ),
                ),
                ("field", models.CharField(max_length=20)),
                ("before", models.TextField(blank=True)),
                ("after", models.TextField(blank=True)),
                ("reason", models.CharField(max_length=40)),
                ("comment", models.TextField(blank=True, default="")),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("expert", "Expert"),
                            ("draft", "AI draft, accepted"),
                            ("edited", "AI draft, edited"),
                        ],
                        default="expert",
                        max_length=10,
                    ),
                ),
                (
                    "draft",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.draft",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "indexes": [models.Index(fields=["study", "id"], name="correction_study_keyset")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("version_after", "field"), name="correction_once_per_field"
                    )
                ],
            },
        ),
        migrations.AddField(
            model_name="Study",
            name="protocol_version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.protocolversion",
            ),
        ),
        migrations.AddField(
            model_name="Item",
            name="current_version",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.itemversion",
            ),
        ),
    ]
