"""API of scorers, scoring runs and scores, for those who run the study."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.paging import PageIn, PageOut, page_of
from annotation.api.serializers import In, Out, operation
from scoring.access import run_of
from scoring.metrics import registry
from scoring.metrics.estimates import Estimate
from scoring.metrics.registry import MetricEntry, Option, Reads
from scoring.models import Score, Scorer, ScoringRun
from scoring.runs import estimates, results, scoring_runs
from scoring.runs.claims import SCORING
from scoring.runs.engine import FaultCount


class OptionOut(Out):
    shape, shown = Option, "name kind help default required choices"
    kind = serializers.CharField(help_text="text, texts, number, choice, flag or table.")
    default = serializers.JSONField(allow_null=True)


class ScorerOut(Out):
    """A scorer that can be asked for, and its settings."""

    shape, shown = MetricEntry, "name title summary reads options"
    reads = serializers.ChoiceField([each.value for each in Reads], help_text="One candidate, or two.")
    options = OptionOut(many=True)


class ScorersOut(serializers.Serializer):
    results = ScorerOut(many=True)


class FilterIn(In):
    """Which part of a study; what is left out narrows nothing."""

    systems = serializers.ListField(child=serializers.CharField(), required=False, max_length=1000)
    items = serializers.ListField(
        child=serializers.CharField(), required=False, max_length=10_000, help_text="By external id."
    )
    strata = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text='For example {"modality": ["music"]}.',
    )


class RunIn(In):
    scorer = serializers.CharField(max_length=60, help_text="A name from …/scorers/.")
    options = serializers.DictField(default=dict, help_text="That scorer's settings.")
    filter = FilterIn(default=dict)
    again = serializers.BooleanField(
        default=False, help_text="Score what this very version has scored already, too."
    )


class VersionOut(Out):
    """One version of a scorer: its digest covers code, weights, prompts, preprocessing and precision."""

    shape, shown, notes = Scorer, "scorer digest config", {"config": "What the digest was made of."}
    scorer = serializers.CharField(source="key")


class RunOut(Out):
    shape = ScoringRun
    shown = (
        "id study scorer version options filter again state message n_rows n_done n_failed per_second seconds_left "
        "prompt_tokens completion_tokens cost expected_cost created_by created_at working_since worked_at finished_at"
    )
    notes = {
        "message": "What went wrong, when something did.",
        "n_rows": "0 until the model was loaded.",
        "n_failed": "Their reasons are in …/faults/.",
        "per_second": "Rows; null before the first are settled.",
        "seconds_left": "Null where that cannot be told.",
        "prompt_tokens": "As servers count what they read for this run.",
        "completion_tokens": "As servers count what they write for this run.",
        "cost": "At the prices of the options; null without any.",
        "expected_cost": "Of the whole run, at the cost of the rows so far; null before the first.",
        "worked_at": "When rows were last settled, or put back.",
    }
    study = serializers.SlugField(source="study.slug")
    scorer = serializers.CharField(source="metric")
    version = VersionOut(source="scorer", allow_null=True, help_text="Null until the model was loaded.")
    created_by = serializers.CharField(source="created_by.name", default=None, allow_null=True)


class EstimateIn(In):
    scorer = serializers.CharField(max_length=60, help_text="A name from …/scorers/.")
    options = serializers.DictField(default=dict, help_text="That scorer's settings.")
    filter = FilterIn(default=dict)


class EstimateOut(Out):
    """What a run would ask of its model's server, from the prompts of a sample of its rows."""

    shape = Estimate
    notes = {
        "n_rows": "All of the part, also what has been scored already.",
        "prompt_tokens": "Of the texts, by their characters; sound comes on top.",
        "most_completion_tokens": "If every answer is as long as it may become.",
        "sound_seconds": "Sent with the requests; models count it in ways of their own.",
        "cost": "Of the texts that are read, at the prices of the options; null without any.",
        "most_cost": "Of the texts that are read, and of the longest answers; null without prices.",
        "minutes": "As long as the rate limit makes it at least; null without one.",
    }


class FaultCountOut(Out):
    """Rows that failed for one reason; reason, item and system are those of the first."""

    shape, shown = FaultCount, "code n at_least reason item system"
    notes = {"at_least": "Only the first 10,000 failed rows were counted."}


class FailedRowOut(serializers.Serializer):
    item = serializers.CharField()
    system = serializers.CharField()
    take = serializers.IntegerField()
    other_system = serializers.CharField(allow_null=True, help_text="Of the second candidate of a pair.")
    code = serializers.CharField(source="fault")
    reason = serializers.CharField()


class FaultPageOut(PageOut):
    counts = FaultCountOut(many=True, help_text="All of the run's, whatever the page.")
    results = FailedRowOut(many=True)


class ScoresIn(PageIn):
    scorer = serializers.RegexField(
        r"\A(?:[0-9a-f]{64}|[a-z][a-z0-9-]{0,59})\Z",
        required=False,
        help_text="A scorer's name, or the digest of one version of it.",
    )


class ScoreOut(Out):
    shape = Score
    shown = (
        "item version system take other_system other_take scorer digest "
        "output value distribution provenance created_at"
    )
    item = serializers.CharField()
    version = serializers.IntegerField(source="version_number", help_text="Of the item.")
    system = serializers.CharField()
    take = serializers.IntegerField()
    other_system = serializers.CharField(allow_null=True)
    other_take = serializers.IntegerField(allow_null=True)
    scorer = serializers.CharField(source="key")
    digest = serializers.CharField()


# ── views ──


class ScorersView(APIView):
    @operation("scorers", ScorersOut, 403)
    def get(self, request: Request) -> Response:
        """The scorers there are, and their settings."""
        entries = [registry.METRICS[name] for name in sorted(registry.METRICS)]
        return Response({"results": ScorerOut(entries, many=True).data})


class RunsView(APIView):
    @operation("scoring_runs", page_of(RunOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The scoring runs of a study, newest first."""
        study = access.managed_study(request.user, slug)
        rows = ScoringRun.objects.filter(study=study).select_related("study", "scorer", "created_by")
        return Response(paging.page(request, rows, RunOut, newest_first=True))

    @operation("start_scoring_run", RunOut, 400, 403, 404, 409, status=202, request=RunIn)
    def post(self, request: Request, slug: str) -> Response:
        """Score a study, or a part of it, in the background: what this version of the scorer has not scored yet."""
        study = access.managed_study(request.user, slug)
        body = RunIn.parsed(request.data)
        run = scoring_runs.request(study, body.pop("scorer"), body.pop("options"), actor=request.user, **body)
        return Response(RunOut(run).data, status=202)


class EstimateView(APIView):
    @operation("estimate_scoring_run", EstimateOut, 400, 403, 404, request=EstimateIn)
    def post(self, request: Request, slug: str) -> Response:
        """What a run would ask of a server and cost. Nothing is started, and no server is asked."""
        study = access.managed_study(request.user, slug)
        body = EstimateIn.parsed(request.data)
        found = estimates.estimate_run(study, body["scorer"], body["options"], filter=body["filter"])
        return Response(EstimateOut(found).data)


class RunView(APIView):
    @operation("scoring_run", RunOut, 403, 404)
    def get(self, request: Request, run_id: int) -> Response:
        """A run over a study that you run, with its progress."""
        return Response(RunOut(run_of(request.user, run_id)).data)


class CancelView(APIView):
    @operation("cancel_scoring_run", RunOut, 403, 404, 409, request=None)
    def post(self, request: Request, run_id: int) -> Response:
        """Stop a run. What it has scored stays."""
        return Response(RunOut(scoring_runs.cancel(run_of(request.user, run_id), actor=request.user)).data)


class RetryView(APIView):
    @operation("retry_scoring_run", RunOut, 403, 404, 409, request=None)
    def post(self, request: Request, run_id: int) -> Response:
        """Try again what failed, and go on with a run that failed or was cancelled."""
        return Response(RunOut(scoring_runs.retry(run_of(request.user, run_id), actor=request.user)).data)


class FaultsView(APIView):
    @operation("scoring_faults", FaultPageOut, 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, run_id: int) -> Response:
        """What could not be scored in a run, counted by reason (the first 10,000) and row by row."""
        run = run_of(request.user, run_id)
        counts = FaultCountOut(SCORING.count_faults(run), many=True).data
        return Response({"counts": counts, **paging.page(request, results.failed_rows(run), FailedRowOut)})


class ScoresView(APIView):
    @operation(
        "scores",
        page_of(ScoreOut),
        400,
        403,
        404,
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter(
                "scorer",
                {"type": "string", "pattern": "^([0-9a-f]{64}|[a-z][a-z0-9-]{0,59})$"},
                description="A scorer's name, or the digest of one version of it.",
            ),
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """What scorers said of a study's candidates. Raters never see it."""
        study = access.managed_study(request.user, slug)
        query = ScoresIn.parsed(request.query_params.dict())
        rows = results.study_scores(study, scorer=query.get("scorer", ""))
        return Response(paging.page(request, rows, ScoreOut, query=ScoresIn))
