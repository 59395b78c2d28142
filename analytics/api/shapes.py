"""What the analysis endpoints take and give."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers

from analytics.exporters import EXPORTERS
from analytics.records.items import TEXTS
from analytics.services.report_jobs import INTERVALS, MOST_REPLICATES, MOST_SEED
from analytics.statistics.bootstrap import REPLICATES
from annotation.api.shapes import In
from annotation.models import Job


class AlphaOut(serializers.Serializer):
    """Krippendorff's alpha; null, with the reason, where it is not defined."""

    level = serializers.CharField()
    alpha = serializers.FloatField(allow_null=True)
    ci95 = serializers.ListField(child=serializers.FloatField(), min_length=2, max_length=2, allow_null=True)
    ci_method = serializers.CharField()
    units = serializers.IntegerField()
    pairable_units = serializers.IntegerField(help_text="With two or more ratings.")
    ratings = serializers.IntegerField()
    pairable_ratings = serializers.IntegerField()
    reason = serializers.CharField(allow_null=True)


class QuestionAgreementOut(AlphaOut):
    title = serializers.CharField()
    kind = serializers.CharField()
    raters = serializers.IntegerField(allow_null=True, help_text="Named ones; null where nobody was named.")
    unnamed_raters = serializers.BooleanField(help_text="Some or all ratings name nobody.")
    off_scale = serializers.IntegerField(
        required=False, help_text="Ratings left out because they are none of the scale's points."
    )
    percent_agreement = serializers.FloatField(allow_null=True)
    percent_agreement_kind = serializers.CharField()
    percent_agreement_per_unit = serializers.FloatField(allow_null=True)
    percent_agreement_observed = serializers.FloatField(allow_null=True)
    symmetric = AlphaOut(
        required=False, help_text="For preferences: which candidate is listed first is arbitrary."
    )
    protocol_versions = serializers.ListField(child=serializers.IntegerField())
    protocol_versions_left_out = serializers.ListField(
        child=serializers.IntegerField(), help_text="They ask on another scale."
    )


class AgreementOut(serializers.Serializer):
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="Figures follow the judgments within a minute; null before the first."
    )
    questions = serializers.DictField(child=QuestionAgreementOut())


class ExportIn(In):
    format = serializers.ChoiceField(list(EXPORTERS))
    texts = serializers.ChoiceField(
        list(TEXTS),
        default="both",
        help_text="Which versions of items: the last before any correction, the current, or all of them.",
    )


class ExportOut(serializers.Serializer):
    job = serializers.UUIDField()
    state = serializers.ChoiceField(Job.State.choices)
    file = serializers.CharField(help_text="Path of the archive once the job is done.")


class ReportIn(In):
    interval = serializers.ChoiceField(
        list(INTERVALS), default="jackknife", help_text="Of Krippendorff's alpha."
    )
    replicates = serializers.IntegerField(
        min_value=1, max_value=MOST_REPLICATES, default=REPLICATES, help_text="Of every bootstrap."
    )
    seed = serializers.IntegerField(min_value=0, max_value=MOST_SEED, default=0)
    language = serializers.ChoiceField([code for code, _name in settings.LANGUAGES], default="en")


class ReportJobOut(serializers.Serializer):
    job = serializers.UUIDField()
    state = serializers.ChoiceField(Job.State.choices)


class ReportSectionOut(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    blocks = serializers.ListField(
        child=serializers.DictField(), help_text="Each has a `kind`: table, figure or paragraph."
    )


class DocumentOut(serializers.Serializer):
    title = serializers.CharField()
    language = serializers.CharField()
    facts = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    sections = ReportSectionOut(many=True)


class ReportOut(serializers.Serializer):
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first report.")
    settings = ReportIn(allow_null=True)
    document = DocumentOut(allow_null=True)
