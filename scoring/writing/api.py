"""API of writers, writing runs, imported texts and AI drafts."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from django.db import transaction
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.authentication import Scope
from annotation.api.paging import PageIn, page_of
from annotation.api.serializers import In, Out, TableField, operation
from annotation.errors import NotFound
from annotation.models import Draft, ReviewCase
from annotation.review import blind_judgments, cases, drafts
from annotation.review.rules import CORRECTABLE_FIELDS
from scoring.access import writer_of, writing_run_of
from scoring.models import Writer, WritingRow, WritingRun
from scoring.runs.api import OptionOut
from scoring.writing import draft_requests, publishing, results, text_files, writers, writing_runs
from scoring.writing.draft_requests import DraftOutcomes
from scoring.writing.kinds import KINDS, Kind
from scoring.writing.text_files import ImportedTexts, ImportPermissions
from scoring.writing.writers import WriterSettings


class WriterKindOut(Out):
    shape, shown = Kind, "writes title summary options"
    writes = serializers.ChoiceField(Writer.Writes.choices)
    options = OptionOut(many=True)


class WriterKindsOut(serializers.Serializer):
    results = WriterKindOut(many=True)


class WriterChangeIn(In):
    name = serializers.CharField(required=False, max_length=80)
    backbone = serializers.CharField(
        required=False,
        max_length=500,
        help_text="A name on the hub, a folder, or a server's address with the model's name after a #.",
    )
    options = TableField(required=False)
    prompt = TableField(
        required=False, help_text="A prompt file as an object; empty for the words that come along."
    )
    system = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Whose answers it writes; made where it is new.",
    )
    per_minute = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=100_000)
    price_in = serializers.FloatField(
        required=False, allow_null=True, help_text="Of a million tokens read, in whatever currency."
    )
    price_out = serializers.FloatField(required=False, allow_null=True)
    drafts = serializers.BooleanField(
        required=False, help_text="Whether experts find its drafts at the review desk without asking."
    )
    retired = serializers.BooleanField(required=False, help_text="Asked for nothing any more.")


class WriterIn(WriterChangeIn):
    writes = serializers.ChoiceField(Writer.Writes.choices)
    name = serializers.CharField(max_length=80)
    backbone = serializers.CharField(max_length=500)


class WriterOut(Out):
    shape = Writer
    shown = "id name writes backbone options prompt system per_minute price_in price_out drafts retired created_at"
    system = serializers.CharField(source="system.name", default="")


class WritingFilterIn(In):
    items = serializers.ListField(
        child=serializers.CharField(max_length=300), required=False, max_length=10_000
    )
    strata = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=300)), required=False
    )


class WritingIn(In):
    filter = WritingFilterIn(default=dict)
    anew = serializers.BooleanField(default=False, help_text="Also items that have such a text.")
    judged = serializers.BooleanField(
        default=False, help_text="Also items that people have judged; their new version is judged anew."
    )
    publishes = serializers.BooleanField(
        default=False, help_text="Texts go to the items as they come, and nobody looks first."
    )


class TextsIn(In):
    file = serializers.FileField(help_text="CSV, TSV or JSONL: item, text, and either system or field.")
    new_systems = serializers.BooleanField(default=False, help_text="It may name new systems.")
    anew = serializers.BooleanField(default=False, help_text="It may replace texts that are there.")
    judged = serializers.BooleanField(default=False, help_text="It may change items that people have judged.")
    publishes = serializers.BooleanField(default=True, help_text="Publish at once.")


class WritingRunOut(Out):
    shape = WritingRun
    shown = (
        "id study writer name purpose state filter publishes publishing identity n_rows n_done n_failed n_published "
        "prompt_tokens completion_tokens cost message created_at finished_at"
    )
    notes = {
        "publishing": "Texts that were looked at are being published.",
        "identity": "What opened: weights, prompt, dtype.",
        "cost": "At the writer's prices now; null without any.",
    }
    study = serializers.SlugField(source="study.slug")
    writer = serializers.IntegerField(source="writer_id", allow_null=True, help_text="Null for a file.")
    name = serializers.CharField(source="title", read_only=True, help_text="Of the writer or the file.")
    purpose = serializers.CharField()
    state = serializers.CharField()


class TakenInOut(Out):
    shape, notes = ImportedTexts, {"n_there": "Rows that say what is there already."}
    run = WritingRunOut(allow_null=True, help_text="Null where nothing was new.")


class WrittenRowsIn(PageIn):
    fault = serializers.CharField(required=False, max_length=40)


class WrittenRowOut(Out):
    shape = WritingRow
    shown = "id item version field system state fault reason text cut written_at published_at"
    notes = {
        "field": "Empty for an answer.",
        "fault": "Why there is no text, or why it was not published.",
        "cut": "It had more to say and was stopped.",
    }
    item = serializers.CharField(source="item_version.item.external_id")
    version = serializers.IntegerField(source="item_version.number")
    system = serializers.CharField(source="system.name", default=None, allow_null=True)
    state = serializers.SerializerMethodField()

    def get_state(self, row: WritingRow) -> str:
        return WritingRow.State(row.state).name.lower()


class PublishIn(In):
    cut = serializers.BooleanField(default=False, help_text="Also texts that were stopped before their end.")


class AskDraftIn(In):
    writer = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**63 - 1,
        help_text="Left out: each writer that drafts by itself and has not yet, as opening the desk does.",
    )
    note = serializers.CharField(
        default="", allow_blank=True, max_length=2000, help_text="What the model is told beside the item."
    )


class DraftOut(Out):
    shape, shown = Draft, "id field writer state text problem provenance created_at written_at"
    field = serializers.ChoiceField([(name, name) for name in CORRECTABLE_FIELDS])
    state = serializers.CharField()


class DraftWriterOut(Out):
    shape, shown = Writer, "id name field drafts"
    field = serializers.CharField(source="writes")


class DraftsOut(serializers.Serializer):
    results = DraftOut(many=True)
    writers = DraftWriterOut(many=True, help_text="Those that can be asked.")


class DraftOutcomeOut(Out):
    shape = DraftOutcomes
    shown = "writer field waiting proposed accepted edited rejected unused late failed accepted_unedited"
    notes = {
        "late": "Had not come when their case was decided.",
        "accepted_unedited": "Share of those decided about.",
    }


class DraftOutcomesOut(serializers.Serializer):
    results = DraftOutcomeOut(many=True)


def writer_settings(body: dict[str, Any], writer: Writer | None = None) -> dict[str, Any]:
    """A writer's settings: as they are, where there is one, with what was requested."""
    now = {each.name: getattr(writer, each.name) for each in fields(WriterSettings)} if writer else {}
    if writer:
        now["system"] = writer.system.name if writer.system else ""
    return {**now, **{name: value for name, value in body.items() if name != "retired"}}


# ── views of writers and imported texts ──


class WriterKindsView(APIView):
    @operation("writer_kinds", WriterKindsOut, 403)
    def get(self, request: Request) -> Response:
        """What models can be set up to write, and their settings."""
        return Response({"results": WriterKindOut([*KINDS.values()], many=True).data})


class WritersView(APIView):
    @operation("writers", page_of(WriterOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The writers that a study has set up, retired ones too."""
        study = access.managed_study(request.user, slug)
        rows = Writer.objects.filter(study=study).select_related("system")
        return Response(paging.page(request, rows, WriterOut))

    @operation("add_writer", WriterOut, 400, 403, 404, status=201, request=WriterIn)
    def post(self, request: Request, slug: str) -> Response:
        """Set up a writer. No model is loaded: whether it opens is seen when it is first asked."""
        study = access.managed_study(request.user, slug)
        body = WriterIn.parsed(request.data)
        writer = writers.add(study, WriterSettings(**writer_settings(body)), actor=request.user)
        return Response(WriterOut(writer).data, status=201)


class WriterView(APIView):
    @operation("writer", WriterOut, 403, 404)
    def get(self, request: Request, slug: str, writer_id: int) -> Response:
        """One writer and its settings."""
        return Response(WriterOut(writer_of(request.user, slug, writer_id)).data)

    @operation("change_writer", WriterOut, 400, 403, 404, request=WriterChangeIn)
    def patch(self, request: Request, slug: str, writer_id: int) -> Response:
        """Set a writer up otherwise for what is asked of it from now on; retire it, or bring it back."""
        writer = writer_of(request.user, slug, writer_id)
        body = WriterChangeIn.parsed(request.data)
        if set(body) - {"retired"}:
            writer = writers.change(
                writer, WriterSettings(**writer_settings(body, writer)), actor=request.user
            )
        if body.get("retired", writer.retired) != writer.retired:
            writer = writers.retire(writer, retired=body["retired"], actor=request.user)
        return Response(WriterOut(writer).data)


class StartWriterView(APIView):
    @operation("start_writing", WritingRunOut, 400, 403, 404, 409, status=202, request=WritingIn)
    def post(self, request: Request, slug: str, writer_id: int) -> Response:
        """Have a writer write, in the background, for the items that lack what it writes."""
        writer = writer_of(request.user, slug, writer_id)
        run = writing_runs.request(writer, **WritingIn.parsed(request.data), actor=request.user)
        return Response(WritingRunOut(run).data, status=202)


class TextsView(APIView):
    parser_classes = [MultiPartParser]

    @operation(
        "take_in_texts", TakenInOut, 400, 403, 404, 413, status=202, request={"multipart/form-data": TextsIn}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Texts and answers that were written elsewhere, all or nothing; what is there already is passed over."""
        study = access.managed_study(request.user, slug)
        body = TextsIn.parsed(request.data)
        imported = text_files.import_uploaded_texts(
            study,
            body["file"],
            allowing=ImportPermissions(body["anew"], body["judged"], body["new_systems"]),
            publishes=body["publishes"],
            actor=request.user,
        )
        return Response(TakenInOut(imported).data, status=202)


class DraftOutcomesView(APIView):
    @operation("draft_outcomes", DraftOutcomesOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """What became of the drafts that models wrote for experts, by writer and field."""
        rows = draft_requests.draft_outcomes(access.managed_study(request.user, slug))
        return Response({"results": DraftOutcomeOut(rows, many=True).data})


# ── views of writing runs ──


class WritingRunsView(APIView):
    @operation("writing_runs", page_of(WritingRunOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """What writers wrote for a study's items, the newest run first. Drafts for cases are with the cases."""
        study = access.managed_study(request.user, slug)
        rows = WritingRun.objects.filter(study=study).exclude(purpose=WritingRun.Purpose.DRAFTS)
        rows = rows.select_related("study", "writer")
        return Response(paging.page(request, rows, WritingRunOut, newest_first=True))


class WritingRunView(APIView):
    @operation("writing_run", WritingRunOut, 403, 404)
    def get(self, request: Request, run_id: int) -> Response:
        """One run, and how far it is."""
        return Response(WritingRunOut(writing_run_of(request.user, run_id)).data)


class WrittenRowsView(APIView):
    @operation(
        "written_rows",
        page_of(WrittenRowOut, "WrittenPageOut"),
        400,
        403,
        404,
        parameters=[
            *paging.PARAMETERS,
            OpenApiParameter(
                "fault", str, description="Only rows with this fault; otherwise what was written."
            ),
        ],
    )
    def get(self, request: Request, run_id: int) -> Response:
        """What a run has written; or what became nothing, or was not published, for one reason."""
        run = writing_run_of(request.user, run_id)
        fault = WrittenRowsIn.parsed(request.query_params.dict()).get("fault")
        return Response(
            paging.page(request, results.written_rows(run, fault=fault), WrittenRowOut, query=WrittenRowsIn)
        )


class PublishView(APIView):
    @operation("publish_writing", WritingRunOut, 400, 403, 404, 409, request=PublishIn)
    def post(self, request: Request, run_id: int) -> Response:
        """Give what a run has written to the items, in the background, but for what was left out."""
        run = writing_run_of(request.user, run_id)
        cut = PublishIn.parsed(request.data)["cut"]
        return Response(WritingRunOut(publishing.publish(run, cut=cut, actor=request.user)).data)


class CancelWritingView(APIView):
    @operation("cancel_writing", WritingRunOut, 403, 404, 409, request=None)
    def post(self, request: Request, run_id: int) -> Response:
        """Stop a run, and the publishing of what was looked at. What it has written stays."""
        run = writing_run_of(request.user, run_id)
        return Response(WritingRunOut(writing_runs.cancel(run, actor=request.user)).data)


class RetryWritingView(APIView):
    @operation("retry_writing", WritingRunOut, 403, 404, 409, request=None)
    def post(self, request: Request, run_id: int) -> Response:
        """Try what failed once more, and go on with a run that failed or was cancelled."""
        run = writing_run_of(request.user, run_id)
        return Response(WritingRunOut(writing_runs.retry(run, actor=request.user)).data)


class LeaveOutView(APIView):
    @operation("leave_out_written", WrittenRowOut, 403, 404, 409, request=None)
    def post(self, request: Request, run_id: int, row_id: int) -> Response:
        """Keep one text from being published. It stays with the run."""
        run = writing_run_of(request.user, run_id)
        return Response(WrittenRowOut(publishing.leave_out(run, row_id, actor=request.user)).data)


# ── views of drafts, for the expert who works on a case and has judged it blind ──


class DraftsView(APIView):
    writes = Scope.REVIEW

    @operation("case_drafts", DraftsOut, 403, 404)
    def get(self, request: Request, case_id: int) -> Response:
        """What models proposed for the texts of a case that you have judged, and which of them can be asked."""
        return Response(_drafts_body(blind_judgments.judged_case(request.user, case_id)))

    @operation("ask_for_draft", DraftsOut, 400, 403, 404, 409, status=202, request=AskDraftIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Ask a writer for a draft of its field; it comes in the background."""
        case = blind_judgments.judged_case(request.user, case_id)
        body = AskDraftIn.parsed(request.data)
        with transaction.atomic():
            held = cases.claimed_case(request.user, case.pk)
            if "writer" not in body:
                draft_requests.request_automatic_drafts(held, actor=request.user)
            else:
                writer = _draft_writer(held, body["writer"])
                draft_requests.request_draft(held, writer, actor=request.user, note=body["note"])
        return Response(_drafts_body(case), status=202)


class RejectDraftView(APIView):
    writes = Scope.REVIEW

    @operation("reject_draft", DraftOut, 403, 404, 409, request=None)
    def post(self, request: Request, case_id: int, draft_id: int) -> Response:
        """Say that a draft is not wanted. Rejecting twice is once."""
        case = blind_judgments.judged_case(request.user, case_id)
        if not case.drafts.filter(pk=draft_id).exists():
            raise NotFound
        return Response(DraftOut(drafts.reject_draft(request.user, draft_id)).data)


def _draft_writer(case: ReviewCase, writer_id: int) -> Writer:
    writer = next((one for one in draft_requests.writers_for(case) if one.pk == writer_id), None)
    if writer is None:
        raise NotFound
    return writer


def _drafts_body(case: ReviewCase) -> dict[str, Any]:
    drafts_of_case = case.drafts.filter(item_version_id=case.item_version_id).order_by("-pk")
    writers = draft_requests.writers_for(case)
    return {
        "results": DraftOut(drafts_of_case, many=True).data,
        "writers": DraftWriterOut(writers, many=True).data,
    }
