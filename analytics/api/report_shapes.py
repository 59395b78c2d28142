"""What the endpoints of reports and comparisons take and give."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers

from analytics.api.shapes import ReportJobOut as ReportJobOut
from annotation.api.job_shapes import JobRowOut
from annotation.api.paging import PageOut
from annotation.api.shapes import In

_MOST = 50


def _numbers(**kwargs: object) -> serializers.ListField:
    child = serializers.IntegerField(min_value=0, max_value=2**63 - 1)
    return serializers.ListField(child=child, max_length=_MOST, **kwargs)


class JobAndFiguresOut(serializers.Serializer):
    """`job` is the newest, under way or not; `figures` are of the last that was finished."""

    job = serializers.UUIDField(allow_null=True)
    state = serializers.CharField(allow_null=True)
    computed_at = serializers.DateTimeField(allow_null=True)
    figures = serializers.DictField(allow_null=True)


class ComparisonIn(In):
    versions = _numbers(min_length=1, help_text="Ids of learned models.")
    scorers = _numbers(default=list, help_text="Ids of scorer versions of this study, beside them.")
    language = serializers.ChoiceField([code for code, _name in settings.LANGUAGES], default="en")


class ComparisonRowOut(JobRowOut):
    versions = serializers.ListField(source="params.versions", child=serializers.IntegerField())
    scorers = serializers.ListField(source="params.scorers", child=serializers.IntegerField())


class ComparisonPageOut(PageOut):
    results = ComparisonRowOut(many=True)


class ComparisonOut(ComparisonRowOut):
    document = serializers.DictField(source="report", help_text="Empty until it is made.")
