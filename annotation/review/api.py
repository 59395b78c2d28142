"""The review API: the queue and its saved views, claims, blind judgments, adjudication, rules, returns to raters."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api import paging
from annotation.api.authentication import Scope
from annotation.api.paging import PageOut
from annotation.api.serializers import In, Out, SettingsIn, TableField, operation, problem_responses
from annotation.errors import InvalidInput
from annotation.jobs.api import JobOut
from annotation.models import Return, ReviewCase, SavedView, Study, User
from annotation.rating.api import AssignmentOut, judgment_operation, receipt_response, submission_of
from annotation.review import adjudication, blind_judgments, cases, flagging, queue, returns, settings
from annotation.review.flag_rules import KINDS, FlagRules
from annotation.review.queue import FILTER_STATES, QueueFilters
from annotation.review.rules import CORRECTABLE_FIELDS, CORRECTION_REASONS, ReviewSettings

# The queue

_MAX_FILTER_TEXT = 200


class StratumField(serializers.RegexField):
    """One stratum, as `name=value`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(r"\A[^=]+=.*\Z", max_length=2 * _MAX_FILTER_TEXT, **kwargs)


class FiltersIn(In):
    """Which cases; what is left out narrows nothing, but for the state: without one, open cases are meant."""

    state = serializers.ChoiceField(FILTER_STATES, required=False)
    rule = serializers.ChoiceField(list(KINDS), required=False)
    assigned = serializers.CharField(
        required=False, max_length=254, help_text="me, nobody, or an expert's e-mail address."
    )
    strata = serializers.ListField(
        child=StratumField(), required=False, max_length=20, help_text="Each as name=value; all must match."
    )
    text = serializers.CharField(
        required=False, max_length=_MAX_FILTER_TEXT, help_text="Part of the item's name, question or prompt."
    )


class QueueIn(FiltersIn):
    after = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    limit = serializers.IntegerField(default=50, min_value=1, max_value=200)


class AssignIn(In):
    cases = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=2**63 - 1), min_length=1, max_length=1000
    )
    expert = serializers.EmailField(allow_null=True, help_text="Null gives the cases back to everybody.")


class ReviewViewIn(In):
    name = serializers.CharField(max_length=80)
    shared = serializers.BooleanField(default=False, help_text="Everybody who sees the queue sees it.")
    filters = FiltersIn(default=dict)


class CaseRowOut(Out):
    """A case as the queue shows it: of the votes, only which rules fired."""

    shape = queue.QueueRow
    shown = "id item_id item title strata state decision rules assigned_to claimed_by is_mine n_returns created_at"
    notes = {
        "title": "The beginning of the item's question or prompt.",
        "decision": "Empty until decided.",
        "assigned_to": "Empty where it is anybody's.",
        "claimed_by": "Empty where nobody is at it.",
        "is_mine": "You are at it.",
    }
    item = serializers.CharField(source="external_id")


class QueueCountsOut(Out):
    """How many cases; 1000 means that many or more."""

    shape, notes = queue.QueueCounts, {"mine": "Unresolved ones that were given to you."}


class QueueOut(PageOut):
    counts = QueueCountsOut(help_text="All of the study's, whatever the filters.")
    results = CaseRowOut(many=True)


class ClaimedOut(serializers.Serializer):
    """A case in your hands. Judge it blind first; what others said is at …/review-cases/{id}/ from then on."""

    id = serializers.IntegerField()
    state = serializers.CharField()
    claim_expires_at = serializers.DateTimeField(allow_null=True)
    judged = serializers.BooleanField(
        help_text="Whether you have judged it blind, or it has no task to judge."
    )


class AssignedOut(serializers.Serializer):
    changed = serializers.IntegerField()


class ReviewViewOut(Out):
    shape, shown = SavedView, "id name shared mine filters"
    mine = serializers.BooleanField()


class ReviewViewsOut(serializers.Serializer):
    results = ReviewViewOut(many=True)


def parse_filters(body: dict[str, Any]) -> QueueFilters:
    """The queue's filters of a validated request."""
    strata = dict(pair.split("=", 1) for pair in body.get("strata", ()))
    return QueueFilters.of({**body, "strata": strata})


QUEUE_PARAMETERS = [
    *paging.PARAMETERS,
    OpenApiParameter("state", str, enum=FILTER_STATES, description="Open cases, unless said."),
    OpenApiParameter("rule", str, enum=list(KINDS)),
    OpenApiParameter("assigned", str, description="me, nobody, or an expert's e-mail address."),
    OpenApiParameter("strata", str, many=True, description="Each as name=value; all must match."),
    OpenApiParameter("text", str, description="Part of the item's name, question or prompt."),
]


class _ReviewingView(APIView):
    writes = Scope.REVIEW


class QueueView(APIView):
    @operation("review_queue", QueueOut, 400, 403, 404, parameters=QUEUE_PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """The cases that experts should look at, the most pressing first: for experts and those who run the study."""
        study = access.study_with_review_queue(request.user, slug).study
        query: dict[str, Any] = request.query_params.dict()
        if "strata" in query:
            query["strata"] = request.query_params.getlist("strata")
        query = QueueIn.parsed(query)
        page = queue.queue_page(
            study, parse_filters(query), reader=request.user, after=query.get("after"), limit=query["limit"]
        )
        next_query = urlencode({**query, "after": page.next_after}, doseq=True)
        body = {
            "next": None if page.next_after is None else f"{request.path}?{next_query}",
            "counts": QueueCountsOut(queue.queue_counts(study, reader=request.user)).data,
            "results": CaseRowOut(page.rows, many=True).data,
        }
        return Response(body)


class NextCaseView(_ReviewingView):
    @extend_schema(
        operation_id="claim_next_case",
        request=FiltersIn,
        responses={200: ClaimedOut, 204: None, **problem_responses(400, 403, 404)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Claim the most pressing open case that the filters let through; 204 where none is left."""
        filters = parse_filters(FiltersIn.parsed(request.data))
        case = cases.claim_next(request.user, slug, filters)
        if case is None:
            return Response(status=204)
        return _claim_response(request.user, begin_claimed(request.user, case))


class ClaimView(_ReviewingView):
    @operation("claim_case", ClaimedOut, 403, 404, 409, request=None)
    def post(self, request: Request, case_id: int) -> Response:
        """Take a case to work on, as opening it at the desk does. Claiming one's own again renews it."""
        case = cases.claim(request.user, case_id)
        return _claim_response(request.user, begin_claimed(request.user, case))


class PutBackView(_ReviewingView):
    @operation("put_back_case", ClaimedOut, 403, 404, request=None)
    def post(self, request: Request, case_id: int) -> Response:
        """Give up a case that is not decided: it is open to others again."""
        return _claim_response(request.user, cases.put_back(request.user, case_id))


class CaseAssignmentsView(APIView):
    @operation("assign_cases", AssignedOut, 400, 403, 404, request=AssignIn)
    def post(self, request: Request, slug: str) -> Response:
        """Give unresolved cases to one of the study's experts, or back to everybody; those who run the study do."""
        body = AssignIn.parsed(request.data)
        return Response({"changed": cases.assign(request.user, slug, body["cases"], expert=body["expert"])})


class ReviewViewsView(_ReviewingView):
    @operation("review_views", ReviewViewsOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """Your saved views of the queue, and those that others share: 50 of each person at most."""
        rows = [_view_out(view, request.user) for view in queue.visible_views(request.user, slug)]
        return Response({"results": rows})

    @operation("save_review_view", ReviewViewOut, 400, 403, 404, status=201, request=ReviewViewIn)
    def post(self, request: Request, slug: str) -> Response:
        """Save filters under a name; your own view of that name is replaced."""
        body = ReviewViewIn.parsed(request.data)
        filters = parse_filters(body["filters"])
        view = queue.save_view(request.user, slug, name=body["name"], filters=filters, shared=body["shared"])
        return Response(_view_out(view, request.user), status=201)


class ReviewViewView(_ReviewingView):
    @operation("delete_review_view", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str, view_id: int) -> Response:
        """Forget one of your views; those who run the study may forget shared ones."""
        queue.delete_view(request.user, slug, view_id)
        return Response(status=204)


def begin_claimed(user: User, case: ReviewCase) -> ReviewCase:
    """The claimed case with its blind stage begun, where it has one that is still to come."""
    if not blind_judgments.may_see_votes(case, user):
        blind_judgments.begin_blind(user, case.pk)
        case.refresh_from_db()
    return case


def _claim_response(user: User, case: ReviewCase) -> Response:
    body = {"id": case.pk, "state": case.state, "claim_expires_at": case.claim_expires_at}
    return Response({**body, "judged": blind_judgments.may_see_votes(case, user)})


def _view_out(view: SavedView, reader: User) -> dict[str, Any]:
    return {
        "id": view.pk,
        "name": view.name,
        "shared": view.shared,
        "mine": view.owner_id == reader.pk,
        "filters": view.filters,
    }


# The desk: blind judgment, claim renewal, decisions, undo

MAX_TEXT_CHARACTERS = 100_000
MAX_COMMENT_CHARACTERS = 5_000


class CorrectionIn(In):
    version_id = serializers.IntegerField(
        help_text="The version that was before the expert; another one since is a conflict."
    )
    texts = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False, max_length=MAX_TEXT_CHARACTERS),
        help_text=f"New texts by field: {', '.join(CORRECTABLE_FIELDS)}. Those that stayed may be left out.",
    )
    reason = serializers.ChoiceField(list(CORRECTION_REASONS))
    comment = serializers.CharField(default="", allow_blank=True, max_length=MAX_COMMENT_CHARACTERS)
    drafts = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="By field, the draft that its text began as.",
    )
    rewrite_answers = serializers.BooleanField(
        default=False, help_text="Ask the systems for answers to the corrected version."
    )


class FineIn(In):
    comment = serializers.CharField(default="", allow_blank=True, max_length=MAX_COMMENT_CHARACTERS)


class WithdrawalIn(In):
    comment = serializers.CharField(max_length=MAX_COMMENT_CHARACTERS)


class ReturnsIn(In):
    to = serializers.ChoiceField(["raters", "pool"])
    judgments = serializers.ListField(
        child=serializers.UUIDField(),
        default=list,
        max_length=100,
        help_text="To raters: the `client_id` of each judgment whose rater should look again.",
    )
    votes = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=20,
        help_text="To the pool: how many more; else as the study has it.",
    )
    comment = serializers.CharField(max_length=MAX_COMMENT_CHARACTERS)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["to"] == "raters" and not attrs["judgments"]:
            raise serializers.ValidationError({"judgments": ["Name at least one judgment."]})
        return attrs


class CaseOut(serializers.Serializer):
    id = serializers.IntegerField()
    state = serializers.ChoiceField(ReviewCase.State.choices)
    decision = serializers.ChoiceField(ReviewCase.Decision.choices, allow_blank=True)


class KeptOut(serializers.Serializer):
    claim_expires_at = serializers.DateTimeField()


class BlindView(_ReviewingView):
    @operation("blind_task", AssignmentOut, 403, 404, 409)
    def get(self, request: Request, case_id: int) -> Response:
        """The task of a case as any rater would see it, before anything that others said of it."""
        return Response(blind_judgments.blind_briefing(request.user, case_id))

    @judgment_operation("judge_blind")
    def post(self, request: Request, case_id: int) -> Response:
        """Store your own judgment of a case; what others said is there to see from then on. Counted nowhere."""
        receipt = blind_judgments.judge_blind(request.user, case_id, submission_of(request))
        return receipt_response(receipt)


class KeepView(_ReviewingView):
    @operation("keep_case", KeptOut, 403, 404, 409, request=None)
    def post(self, request: Request, case_id: int) -> Response:
        """Keep a case that you have claimed while you are at work on it."""
        return Response({"claim_expires_at": cases.renew_claim(request.user, case_id).claim_expires_at})


class CorrectionView(_ReviewingView):
    @operation("correct_case", CaseOut, 400, 403, 404, 409, request=CorrectionIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case by correcting its item: a new version, with one correction for each field that changed."""
        corrections = adjudication.Corrections(**CorrectionIn.parsed(request.data))
        adjudication.correct_item(request.user, case_id, corrections)
        return _case_out(access.case_under_review(request.user, case_id))


class FineView(_ReviewingView):
    @operation("case_is_fine", CaseOut, 400, 403, 404, 409, request=FineIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case: its item is good as it is."""
        return _case_out(adjudication.approve_item(request.user, case_id, **FineIn.parsed(request.data)))


class WithdrawalView(_ReviewingView):
    @operation("withdraw_item", CaseOut, 400, 403, 404, 409, request=WithdrawalIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Settle a case by taking its item out of the study."""
        body = WithdrawalIn.parsed(request.data)
        return _case_out(adjudication.withdraw_case_item(request.user, case_id, **body))


class ReturnsView(_ReviewingView):
    @operation("return_case", CaseOut, 400, 403, 404, 409, request=ReturnsIn)
    def post(self, request: Request, case_id: int) -> Response:
        """Ask the raters of some judgments to look again, or everybody for more judgments."""
        body = ReturnsIn.parsed(request.data)
        if body["to"] == "raters":
            returns.return_to_rater(request.user, case_id, body["judgments"], body["comment"])
        else:
            returns.return_to_pool(request.user, case_id, body["comment"], votes=body.get("votes"))
        return _case_out(access.case_under_review(request.user, case_id))


class UndoView(_ReviewingView):
    @operation("undo_decision", CaseOut, 403, 404, 409, request=None)
    def post(self, request: Request, case_id: int) -> Response:
        """Take back what you decided about a case, while the study lets you. It is yours again then."""
        return _case_out(adjudication.undo_decision(request.user, case_id))


def _case_out(case: ReviewCase) -> Response:
    return Response({"id": case.pk, "state": case.state, "decision": case.decision})


# Flag rules and settings of the review, for those who run the study

FLAGS_HELP = 'Rules by name, each with what differs: {"codes": {"on": true, "min_raters": 2}}.'


class FlagsIn(In):
    flags = TableField(default=dict, help_text=FLAGS_HELP)


class ReviewRulesIn(FlagsIn, SettingsIn):
    declaration = ReviewSettings


class ReviewRulesOut(Out):
    shape = ReviewSettings
    flags = serializers.DictField(
        child=serializers.DictField(), help_text="Every rule with all of its settings."
    )


class RuleCountOut(Out):
    shape = flagging.RuleCount
    notes = {
        "n_items": "Items that it finds now.",
        "n_new": "Those of them without this reason on a case yet.",
        "examples": "Names of a few, new ones first.",
    }


class RulesPreviewOut(serializers.Serializer):
    results = RuleCountOut(many=True)


class ReviewRulesView(APIView):
    @operation("review_rules", ReviewRulesOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """How a study's cases come about and are worked; all settings."""
        return Response(_rules_out(access.managed_study(request.user, slug)))

    @operation("change_review_rules", ReviewRulesOut, 400, 403, 404, request=ReviewRulesIn)
    def patch(self, request: Request, slug: str) -> Response:
        """Change some of them; what is not named stays. New rules hold for all of the study's votes."""
        study = access.managed_study(request.user, slug)
        changed = settings.change_review_settings(
            study, actor=request.user, **ReviewRulesIn.parsed(request.data)
        )
        return Response(_rules_out(changed))


class RulesPreviewView(APIView):
    @operation("preview_review_rules", RulesPreviewOut, 400, 403, 404, request=FlagsIn)
    def post(self, request: Request, slug: str) -> Response:
        """What the rules would find now if they were changed so. Nothing is changed."""
        study = access.managed_study(request.user, slug)
        flags = FlagsIn.parsed(request.data)["flags"]
        if faults := settings.flag_rule_problems(study, flags):
            raise InvalidInput("These rules cannot be tried.", problems=faults)
        counts = flagging.preview_rules(study, FlagRules.of(study.rules).changed(flags))
        return Response({"results": RuleCountOut(counts, many=True).data})


class ApplyRulesView(APIView):
    @operation("apply_review_rules", JobOut, 403, 404, status=202, request=None)
    def post(self, request: Request, slug: str) -> Response:
        """Look at the whole study by its rules as they are, in the background."""
        study = access.managed_study(request.user, slug)
        job = flagging.enqueue_flagging(study, actor=request.user)
        return Response(JobOut(job).data, status=202, headers={"Location": reverse("api_job", args=[job.pk])})


def _rules_out(study: Study) -> dict[str, Any]:
    return {**asdict(ReviewSettings.of(study.rules)), "flags": FlagRules.of(study.rules).as_json()}


# Returns, for raters: their own answer and the expert's comment, nothing else

# More than a rater who works is ever asked; whoever leaves them waiting gets to the rest by answering.
MAX_RETURNED = 200


class ReturnedRowOut(Out):
    """Your answer is at …/assignments/{assignment}/judgment/; change it at …/revisions/, or keep it here."""

    shape, shown = Return, "id assignment comment created_at"
    notes = {"comment": "What to look at."}
    assignment = serializers.UUIDField(source="assignment_id")


class ReturnedOut(serializers.Serializer):
    results = ReturnedRowOut(many=True)
    more = serializers.IntegerField(help_text="How many wait beyond these.")


class KeepIn(In):
    reply = serializers.CharField(default="", allow_blank=True, max_length=2000)


class ReturnedView(APIView):
    @operation("returned", ReturnedOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """What waits for you in a study, the oldest first."""
        waiting = returns.waiting_returns(request.user, slug)
        rows = ReturnedRowOut(waiting[:MAX_RETURNED], many=True).data
        return Response({"results": rows, "more": max(0, len(waiting) - MAX_RETURNED)})


class KeepReturnedView(APIView):
    writes = Scope.RATE

    @operation("keep_returned", None, 400, 403, 404, 409, status=204, request=KeepIn)
    def post(self, request: Request, return_id: int) -> Response:
        """Stay with your answer, having looked again."""
        returns.keep_judgment(request.user, return_id, KeepIn.parsed(request.data)["reply"])
        return Response(status=204)
