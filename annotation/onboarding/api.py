"""Onboarding over the API: a rater's path and its steps; what a study asks, and what its raters have done of it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import access
from annotation.api.authentication import Scope
from annotation.api.serializers import In, Out, SettingsIn, operation
from annotation.models import Consent, ConsentVersion, Rater, TrainingRun
from annotation.onboarding import consent, demographics, path, training
from annotation.onboarding.rules import MAX_TEXT, OnboardingRules, TrainingRules

TEXTS = "By language: en, zh-hans."


class TextsField(serializers.DictField):
    child = serializers.CharField(allow_blank=True, max_length=consent.MAX_TEXT)


class OptionIn(serializers.Serializer):
    key = serializers.CharField(max_length=40)
    texts = TextsField(help_text=TEXTS)


class QuestionIn(serializers.Serializer):
    key = serializers.CharField(max_length=40)
    texts = TextsField(help_text=TEXTS)
    options = OptionIn(many=True, required=False, help_text="None for an answer in one's own words.")
    required = serializers.BooleanField(default=False)


class TrainingRulesIn(SettingsIn):
    """Whether raters practise first, and what counts as passed."""

    declaration = TrainingRules


class OnboardingIn(In):
    """What raters do before they rate. Consent needs a text, training needs training tasks."""

    consent = serializers.BooleanField(required=False)
    guidelines = serializers.BooleanField(required=False)
    questions = QuestionIn(many=True, required=False, help_text="About the rater (demographics).")
    training = TrainingRulesIn(required=False)
    tasks = serializers.ListField(
        child=serializers.IntegerField(),
        required=False,
        max_length=1000,
        help_text="Ids of training tasks in the order in which raters meet them; others follow.",
    )


class TrainingStandingOut(serializers.Serializer):
    attempts_left = serializers.IntegerField(allow_null=True, help_text="Null for no limit.")
    failed_before = serializers.BooleanField()


class StepOut(serializers.Serializer):
    key = serializers.CharField(help_text="consent, demographics, guidelines, checks or training")
    state = serializers.CharField(help_text="done, due, begun, declined, failed or exhausted")
    reason = serializers.CharField(help_text="What to do, and why; empty for a step that is done.")
    training = TrainingStandingOut(allow_null=True)


class ConsentTextOut(Out):
    shape, shown = ConsentVersion, "number texts reconsent created_at"
    texts = serializers.DictField(child=serializers.CharField(), help_text=TEXTS)


class PathOut(serializers.Serializer):
    steps = StepOut(many=True)
    next_step = serializers.CharField(allow_null=True, help_text="Null for a rater who may rate.")
    consent = ConsentTextOut(allow_null=True, help_text="The text in force.")
    questions = QuestionIn(many=True)
    answers = serializers.DictField(
        child=serializers.CharField(), allow_null=True, help_text="Your own answers about yourself."
    )


class DecisionIn(In):
    version = serializers.IntegerField(min_value=1, help_text="The version that was read.")
    accepted = serializers.BooleanField()
    language = serializers.CharField(default="en", max_length=10)


class DemographicsIn(In):
    answers = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=MAX_TEXT),
        help_text="By question key; prefer_not_to_say is an answer to each.",
    )


class ConsentOut(Out):
    shape, shown = Consent, "accepted language decided_at"
    version = serializers.IntegerField(source="version.number")


class TrainingRunOut(Out):
    shape = TrainingRun
    shown = "number state n_correct needed started_at finished_at revoked_at"


class RaterOnboardingOut(serializers.Serializer):
    steps = StepOut(many=True)
    consents = ConsentOut(many=True)
    training_runs = TrainingRunOut(many=True)


class ConsentVersionIn(In):
    texts = TextsField(help_text=TEXTS)
    reconsent = serializers.ChoiceField(
        ConsentVersion.Reconsent.choices, default=ConsentVersion.Reconsent.NEW
    )


class TrainAgainIn(In):
    reason = serializers.CharField(max_length=200)


def _step(step: path.Step) -> dict[str, Any]:
    standing = step.training and {
        "attempts_left": step.training.attempts_left,
        "failed_before": step.training.failed_before,
    }
    return {"key": step.key, "state": step.state, "reason": step.reason, "training": standing}


def _path_response(rater: Rater) -> Response:
    rater = Rater.objects.select_related("study").get(pk=rater.pk)
    steps = path.steps(rater)
    left = path.look_again(rater)
    settings = OnboardingRules.of(rater.study.rules)
    own = demographics.answers_of(rater)
    body = {
        "steps": [_step(step) for step in steps],
        "next_step": left and left.key,
        "consent": consent.current_version(rater.study) if settings.consent else None,
        "questions": [
            question.stored | {"options": [{"key": key, "texts": texts} for key, texts in question.options]}
            for question in settings.questions
        ],
        "answers": own,
    }
    return Response(PathOut(body).data)


class OnboardingView(APIView):
    @operation("onboarding", PathOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """Your steps before the rating, which of them is next and why, and what they ask."""
        return _path_response(access.rater_of(request.user, slug))


class _StepView(APIView):
    writes = Scope.RATE


class ConsentView(_StepView):
    @operation("decide_consent", PathOut, 400, 403, 404, 409, request=DecisionIn)
    def post(self, request: Request, slug: str) -> Response:
        """Accept or decline the consent text that you have read."""
        rater = access.rater_of(request.user, slug)
        consent.decide(rater, **DecisionIn.parsed(request.data))
        return _path_response(rater)


class DemographicsView(_StepView):
    @operation("answer_demographics", PathOut, 400, 403, 404, request=DemographicsIn)
    def put(self, request: Request, slug: str) -> Response:
        """Answer the questions about yourself, in place of earlier answers. They lie apart from your judgments."""
        rater = access.rater_of(request.user, slug)
        demographics.save_answers(rater, **DemographicsIn.parsed(request.data))
        return _path_response(rater)

    @operation("delete_demographics", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete your answers about yourself."""
        demographics.delete_answers(access.rater_of(request.user, slug), actor=request.user)
        return Response(status=204)


class GuidelinesView(_StepView):
    @operation("read_guidelines", PathOut, 403, 404, request=None)
    def post(self, request: Request, slug: str) -> Response:
        """Say that you have read the guidelines in force (they are part of …/protocol/)."""
        rater = access.rater_of(request.user, slug)
        path.read_guidelines(rater)
        return _path_response(rater)


class TrainingView(_StepView):
    @operation("begin_training", PathOut, 403, 404, 409, request=None)
    def post(self, request: Request, slug: str) -> Response:
        """Start the training, or continue the run that is open; …/next/ then gives its tasks in order."""
        rater = access.rater_of(request.user, slug)
        training.start_run(rater)
        return _path_response(rater)


# ── For those who run the study ────────────────────────────────────────────────


class ConsentVersionsView(APIView):
    @operation("consent_versions", ConsentTextOut(many=True), 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The versions of a study's consent text, the one in force first."""
        study = access.managed_study(request.user, slug)
        return Response(ConsentTextOut(study.consent_versions.order_by("-number"), many=True).data)

    @operation("publish_consent", ConsentTextOut, 400, 403, 404, status=201, request=ConsentVersionIn)
    def post(self, request: Request, slug: str) -> Response:
        """Publish the next version. Raters read it before they go on, as `reconsent` says."""
        study = access.managed_study(request.user, slug)
        version = consent.publish_version(study, actor=request.user, **ConsentVersionIn.parsed(request.data))
        return Response(ConsentTextOut(version).data, status=201)


class RaterOnboardingView(APIView):
    @operation("rater_onboarding", RaterOnboardingOut, 403, 404)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """What a rater has done before the rating, without their answers about themselves."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        body = {
            "steps": [_step(step) for step in path.steps(rater)],
            "consents": rater.consents.select_related("version").order_by("pk"),
            "training_runs": rater.training_runs.order_by("number"),
        }
        return Response(RaterOnboardingOut(body).data)


class RaterAnswersOut(serializers.Serializer):
    rater = serializers.CharField()
    answers = serializers.DictField(child=serializers.CharField())
    answered_at = serializers.DateTimeField()


class StudyDemographicsView(APIView):
    @operation("demographics", RaterAnswersOut(many=True), 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """Raters' answers about themselves, by pseudonym. The log stores who fetched them."""
        study = access.managed_study(request.user, slug)
        return Response(RaterAnswersOut(demographics.export(study, actor=request.user), many=True).data)

    @operation("delete_all_demographics", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the answers of all raters about themselves. Their judgments stay."""
        demographics.delete_all_answers(access.managed_study(request.user, slug), actor=request.user)
        return Response(status=204)


class RaterDemographicsView(APIView):
    @operation("delete_rater_demographics", None, 403, 404, status=204)
    def delete(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Delete a rater's answers about themselves."""
        demographics.delete_answers(
            access.rater_by_pseudonym(request.user, slug, pseudonym), actor=request.user
        )
        return Response(status=204)


class RaterTrainingView(APIView):
    @operation("train_again", RaterOnboardingOut, 400, 403, 404, 409, request=TrainAgainIn)
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Ask a rater for training again, with all attempts: also how somebody who failed gets another chance."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        training.require_again(rater, actor=request.user, **TrainAgainIn.parsed(request.data))
        return RaterOnboardingView().get(request, slug, pseudonym)
