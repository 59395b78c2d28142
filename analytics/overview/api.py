"""Overview endpoints: a study's progress and figures, its scorers, score distributions, and agreement."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.overview import figures, scorers
from analytics.overview.scorers import ScoreDistribution
from analytics.overview.study import Progress, RaterRow, study_overview
from annotation import access
from annotation.api.serializers import In, Out, operation
from scoring.access import run_of


class OverviewIn(In):
    raters_after = serializers.CharField(required=False, max_length=40)


class StudyProgressOut(Out):
    shape = Progress
    shown = "items tasks tasks_complete judgments judgments_wanted surplus skips raters share"
    notes = {
        "judgments": "That count: effective and not excluded.",
        "judgments_wanted": "Null until first computed.",
        "share": "Of the judgments wanted, 0 to 1.",
    }


class RaterRowOut(Out):
    shape = RaterRow
    screened = serializers.DictField(
        allow_null=True, help_text="By trials with a hidden reference, of MUSHRA."
    )
    discriminates = serializers.DictField(allow_null=True, help_text="By trials of ABX.")


class QuestionOverviewOut(serializers.Serializer):
    """Figures as last computed."""

    key = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()
    level = serializers.CharField()
    histogram = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField()),
        help_text="Answers and how many gave each.",
    )
    means = serializers.ListField(child=serializers.DictField(), help_text="Of ratings, by system.")
    wins = serializers.ListField(child=serializers.DictField(), help_text="Of preferences, by system.")


class OverviewOut(serializers.Serializer):
    """A study at a glance; how far raters agree is at …/agreement/."""

    computed_at = serializers.DateTimeField(allow_null=True, help_text="Of all but the progress.")
    progress = StudyProgressOut()
    questions = QuestionOverviewOut(many=True)
    codes = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField()), help_text="Feedback codes and how often."
    )
    raters = RaterRowOut(many=True, help_text="By pseudonym.")
    raters_after = serializers.CharField(
        allow_null=True, help_text="Of the next raters; null on the last page."
    )
    stopped_early = serializers.DictField(allow_null=True)
    abx = serializers.DictField(allow_null=True)


class StudyScorerOut(serializers.Serializer):
    id = serializers.IntegerField(source="scorer.pk")
    scorer = serializers.CharField(source="scorer.key")
    digest = serializers.CharField(source="scorer.digest")
    config = serializers.DictField(source="scorer.config")
    latest_run = serializers.IntegerField(source="latest.pk")
    n_run = serializers.IntegerField(help_text="Rows that its runs here scored.")
    n_scored = serializers.IntegerField(
        allow_null=True,
        help_text="Current candidates, or pairs, that have its score; null: too many to count.",
    )


class StudyScorersOut(serializers.Serializer):
    n_candidates = serializers.IntegerField(allow_null=True, help_text="There are to score.")
    results = StudyScorerOut(many=True)


class DistributionOut(Out):
    shape = ScoreDistribution
    notes = {"bins": "Counts over equal steps from low to high."}


class DistributionsOut(serializers.Serializer):
    results = DistributionOut(many=True)


# A study at a glance, what has scored it, and how the scores of a run lie: for those who run the study.


class OverviewView(APIView):
    @operation(
        "overview",
        OverviewOut,
        400,
        403,
        404,
        parameters=[OpenApiParameter("raters_after", str, description="Raters from behind this pseudonym.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        """A study's progress, from counters, and its figures as last computed."""
        study = access.managed_study(request.user, slug)
        query = OverviewIn.parsed(request.query_params.dict())
        overview = study_overview(study, raters_after=query.get("raters_after", ""))
        body = {
            **asdict(overview),
            "progress": overview.progress,
            "raters": [asdict(row) for row in overview.raters.rows],
            "raters_after": overview.raters.next_after,
        }
        return Response(OverviewOut(body).data)


class StudyScorersView(APIView):
    @operation("study_scorers", StudyScorersOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The scorer versions that have scored a study, the newest first, and how much of it."""
        coverage = scorers.scorer_coverage(access.managed_study(request.user, slug))
        rows = StudyScorerOut(coverage.rows, many=True).data
        return Response({"n_candidates": coverage.n_candidates, "results": rows})


class DistributionsView(APIView):
    @operation("score_distributions", DistributionsOut, 403, 404)
    def get(self, request: Request, run_id: int) -> Response:
        """How the scores of a run's first 10,000 rows lie, for each output."""
        distributions = scorers.score_distributions(run_of(request.user, run_id))
        return Response({"results": DistributionOut(distributions, many=True).data})


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


class AgreementView(APIView):
    @operation("agreement", AgreementOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """How far raters agree, question by question, as last computed."""
        study = access.managed_study(request.user, slug)
        current = figures.current_figures(study)
        return Response({"computed_at": current.computed_at, "questions": current.agreement})
