"""What the endpoints about background work take and give."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.importers import FORMATS
from annotation.models import Job


@extend_schema_field(OpenApiTypes.OBJECT)
class ColumnMapField(serializers.JSONField):
    """Columns and the fields they stand for, both texts."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        value = super().to_internal_value(data)
        if not isinstance(value, dict) or not all(isinstance(field, str) for field in value.values()):
            raise serializers.ValidationError('Give a JSON object such as {"Clip file": "audio"}.')
        return value


class ImportIn(In):
    file = serializers.FileField(
        allow_empty_file=True, help_text="A table, or a .zip with one table and its audio beside or below it."
    )
    format = serializers.ChoiceField([(key, found.title) for key, found in FORMATS.items()])
    column_map = ColumnMapField(default=dict, help_text='JSON: {"your column": "our field"}')
    overlap = serializers.IntegerField(
        default=None,
        min_value=1,
        max_value=1000,
        help_text="Judgments wanted per task; the study's by default.",
    )
    archive = serializers.BooleanField(
        default=False, help_text="Tasks that bring judgments want no more than those."
    )
    dry_run = serializers.BooleanField(default=False, help_text="Check everything, change nothing.")
    skip_bad_rows = serializers.BooleanField(
        default=False, help_text="Import the rows that can be used; otherwise it is all or nothing."
    )


class JobPageIn(In):
    after = serializers.UUIDField(required=False)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class JobsIn(JobPageIn):
    kind = serializers.CharField(required=False, max_length=20)
    state = serializers.ChoiceField(Job.State.choices, required=False)


class JobRowOut(serializers.Serializer):
    """A job without what it found."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    study = serializers.SlugField(source="study.slug", default=None, allow_null=True)
    state = serializers.ChoiceField(Job.State.choices)
    stage = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True, help_text="Null until it is known.")
    message = serializers.CharField(help_text="What went wrong, when something did.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class JobOut(JobRowOut):
    report = serializers.DictField(
        help_text="What it found or made; for imports the counts and every bad row."
    )


class JobProblemOut(serializers.Serializer):
    number = serializers.IntegerField()
    row = serializers.CharField(help_text="Where it stands in the source; empty for the source as a whole.")
    field = serializers.CharField()  # type: ignore[assignment]
    problem = serializers.CharField()
    remedy = serializers.CharField()


class JobProblemPageOut(PageOut):
    results = JobProblemOut(many=True)


class JobPageOut(PageOut):
    results = JobRowOut(many=True)
