"""Hidden checks over the API: their pools and how raters did; traps, identical pairs and known answers."""

from __future__ import annotations

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.serializers import In, operation
from annotation.checks import keys, pools, rules, traps
from annotation.checks.expected import ExpectedAnswer
from annotation.checks.pools import TASKS_SHOWN
from annotation.jobs.api import JobOut
from annotation.models import Task

POOL_KINDS = [(kind, kind) for kind in rules.KINDS]
KEY_KINDS = [("gold", "gold"), ("training", "training")]


class PoolOut(serializers.Serializer):
    """One kind of checks."""

    kind = serializers.ChoiceField(POOL_KINDS)
    share = serializers.FloatField(help_text="Of all tasks that a rater gets.")
    n_tasks = serializers.IntegerField(
        allow_null=True, help_text="Null for repeats, which are of what a rater has judged."
    )
    needed = serializers.IntegerField(help_text="How many a rater meets who judges every regular task.")
    lasts = serializers.IntegerField(
        allow_null=True,
        help_text="After about how many tasks a rater has met all of them; null where they suffice.",
    )
    n_answers = serializers.IntegerField()
    passed = serializers.FloatField(
        allow_null=True, help_text="The share of answers as expected; null where none is expected."
    )
    score = serializers.FloatField(allow_null=True, help_text="On average, from 0 to 1.")


class CheckTaskOut(serializers.Serializer):
    """One check."""

    id = serializers.IntegerField(source="task.pk")
    task = serializers.CharField(source="task.external_id")
    kind = serializers.SerializerMethodField()
    expected = serializers.CharField()
    n_answers = serializers.IntegerField()
    passed = serializers.FloatField(allow_null=True)
    suspect = serializers.BooleanField(help_text="Most raters fail it: look at its expected answer.")

    def get_kind(self, row: pools.CheckTask) -> str:
        return Task.Kind(row.task.kind).name.lower()


class HiddenChecksOut(serializers.Serializer):
    pools = PoolOut(many=True)
    tasks = CheckTaskOut(many=True, help_text=f"The first {TASKS_SHOWN} after `after`, by age; no repeats.")


class HiddenChecksIn(In):
    after = serializers.IntegerField(default=0, min_value=0, help_text="The id of the last check before.")


class TrapsIn(In):
    n = serializers.IntegerField(help_text=f"1 to {traps.MOST_AT_ONCE}.")
    language = serializers.CharField(default="en", max_length=10, help_text="Of the voice: en or zh.")


class PairsIn(In):
    n = serializers.IntegerField(help_text=f"1 to {traps.MOST_AT_ONCE}.")


class PairsOut(serializers.Serializer):
    made = serializers.IntegerField(help_text="Fewer than asked for where there are fewer tasks.")


class KeyAnswerIn(serializers.Serializer):
    question = serializers.CharField(max_length=40)
    answer = serializers.CharField(
        max_length=100, help_text="first, second, tie or both_bad; a number; or an option's key."
    )
    tolerance = serializers.FloatField(default=0.0, min_value=0, help_text="Of a number: how far off passes.")
    explanation = serializers.DictField(
        child=serializers.CharField(max_length=2000, allow_blank=True),
        default=dict,
        help_text="Why, by language (en, zh-hans): shown after a training task.",
    )


class KeyIn(In):
    kind = serializers.ChoiceField(KEY_KINDS, default="gold")
    answers = KeyAnswerIn(many=True, max_length=50)


class HiddenChecksView(APIView):
    @operation("hidden_checks", HiddenChecksOut, 400, 403, 404, parameters=[HiddenChecksIn])
    def get(self, request: Request, slug: str) -> Response:
        """How many checks there are of each kind, how far they reach, and how raters did on each."""
        study = access.managed_study(request.user, slug)
        after = HiddenChecksIn.parsed(request.query_params.dict())["after"]
        tables = {"pools": pools.pools_of(study), "tasks": pools.check_tasks(study, after=after)}
        return Response(HiddenChecksOut(tables).data)


class TrapsView(APIView):
    @operation("make_traps", JobOut, 400, 403, 404, 409, status=202, request=TrapsIn)
    def post(self, request: Request, slug: str) -> Response:
        """Speak instructions over copies of some of the study's clips, in a job."""
        study = access.managed_study(request.user, slug)
        job = traps.start_traps(study, **TrapsIn.parsed(request.data), actor=request.user)
        return Response(JobOut(job).data, status=202)


class PairsView(APIView):
    @operation("make_identical_pairs", PairsOut, 400, 403, 404, 409, status=201, request=PairsIn)
    def post(self, request: Request, slug: str) -> Response:
        """Make pairs that show one candidate twice."""
        study = access.managed_study(request.user, slug)
        made = traps.make_identical(study, **PairsIn.parsed(request.data), actor=request.user)
        return Response({"made": made}, status=201)


class TaskKeyView(APIView):
    @operation("set_expected_answers", CheckTaskOut, 400, 403, 404, 409, request=KeyIn)
    def put(self, request: Request, slug: str, task_id: int) -> Response:
        """Make a task a gold or training task that expects these answers, in the place of any that it expected."""
        task = access.task_of(request.user, slug, task_id)
        body = KeyIn.parsed(request.data)
        expected = [ExpectedAnswer(**answer) for answer in body["answers"]]
        keys.set_gold(task.study, task, expected, kind=body["kind"], actor=request.user)
        return Response(CheckTaskOut(pools.check_task(task)).data)
