"""What experts asked a rater to look at again: the rater's own answer and the expert's words, nothing else."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.scopes import Scope
from annotation.api.shapes import In, problems
from annotation.services import returns

# More than a rater who works is ever asked; whoever leaves them waiting gets to the rest by answering.
MOST = 200


class ReturnedRowOut(serializers.Serializer):
    """Your answer is at …/assignments/{assignment}/judgment/; change it at …/revisions/, or keep it here."""

    id = serializers.IntegerField()
    assignment = serializers.UUIDField(source="assignment_id")
    comment = serializers.CharField(help_text="What to look at.")
    created_at = serializers.DateTimeField()


class ReturnedOut(serializers.Serializer):
    results = ReturnedRowOut(many=True)
    more = serializers.IntegerField(help_text="How many wait beyond these.")


class KeepIn(In):
    reply = serializers.CharField(default="", allow_blank=True, max_length=2000)


class ReturnedView(APIView):
    @extend_schema(operation_id="returned", responses={200: ReturnedOut, **problems(403, 404)})
    def get(self, request: Request, slug: str) -> Response:
        """What waits for you in a study, the oldest first."""
        waiting = returns.waiting_of(request.user, slug)
        rows = ReturnedRowOut(waiting[:MOST], many=True).data
        return Response({"results": rows, "more": max(0, len(waiting) - MOST)})


class KeepReturnedView(APIView):
    writes = Scope.RATE

    @extend_schema(
        operation_id="keep_returned", request=KeepIn, responses={204: None, **problems(400, 403, 404, 409)}
    )
    def post(self, request: Request, return_id: int) -> Response:
        """Stay with your answer, having looked again."""
        returns.keep(request.user, return_id, KeepIn.parsed(request.data)["reply"])
        return Response(status=204)
