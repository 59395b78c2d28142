"""Quality of raters over the API: figures, rules with their preview, actions, and what a rater is told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analytics.models import RaterQuality
from analytics.raters import automation, quality
from analytics.raters import rules as rule_decisions
from analytics.raters.automation import RulePreview
from analytics.raters.rules import ACTIONS, FIGURES, MAX_RULES, QualityRules, figures_of
from annotation import access
from annotation.api import paging
from annotation.api.paging import page_of
from annotation.api.serializers import In, Out, operation
from annotation.errors import InvalidInput, NotFound
from annotation.models import RaterAction, RaterNotice, Study
from annotation.raters import actions

# ── Figures ──────────────────────────────────────────────────────────────────


class FigureOut(serializers.Serializer):
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="What it rests on.")
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="Of 95 %, where the figure has one."
    )


class RaterQualityOut(serializers.Serializer):
    pseudonym = serializers.CharField()
    state = serializers.CharField()
    n_judgments = serializers.IntegerField(help_text="That count.")
    n_excluded = serializers.IntegerField()
    figures = serializers.DictField(child=FigureOut(), help_text=f"By name: {', '.join(FIGURES)}.")
    details = serializers.DictField(help_text="What else is known: questions, systems, codes.")
    actions = serializers.ListField(child=serializers.CharField(), help_text="Kinds that stand.")
    computed_at = serializers.DateTimeField()


class RaterQualityView(APIView):
    @operation("rater_quality", RaterQualityOut, 403, 404)
    def get(self, request: Request, slug: str, pseudonym: str) -> Response:
        """The quality of one rater's work, at most a minute old. All raters are the table `raters` of the study's
        data."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        quality.freshen(rater.study)
        row = RaterQuality.objects.filter(rater=rater).first()
        if row is None:
            raise NotFound("The work of this rater has not been measured yet. Ask again in a minute.")
        names = {name for spec in FIGURES.values() for name in (spec.key, spec.n)}
        figures = figures_of({**{name: getattr(row, name) for name in names}, "details": row.details})
        body = {
            "pseudonym": row.name, "state": row.state, "n_judgments": row.n_judgments, "n_excluded": row.n_excluded,
            "figures": {
                key: {"value": one.value, "n": one.n, "interval": one.interval and list(one.interval)}
                for key, one in figures.items()
            },
            "details": row.details, "actions": row.actions, "computed_at": row.computed_at,
        }  # fmt: skip
        return Response(RaterQualityOut(body).data)


# ── Rules ────────────────────────────────────────────────────────────────────


class ConditionShape(serializers.Serializer):
    figure = serializers.CharField(max_length=40, help_text=", ".join(FIGURES))
    side = serializers.CharField(max_length=10, help_text="below or above")
    value = serializers.FloatField(help_text="Shares from 0 to 1.")
    least_n = serializers.IntegerField(
        required=False, default=10, help_text="What the figure rests on, at least."
    )
    surely = serializers.BooleanField(
        required=False, default=False, help_text="The whole 95 % interval, where the figure has one."
    )


class RuleShape(serializers.Serializer):
    key = serializers.CharField(max_length=40)
    title = serializers.CharField(max_length=80)
    action = serializers.CharField(max_length=20, help_text=", ".join(ACTIONS))
    conditions = ConditionShape(many=True, help_text="All have to hold.")
    on = serializers.BooleanField(required=False, default=False)
    message = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=300, help_text="Shown to the rater."
    )


class QualityRulesIn(In):
    rules = RuleShape(many=True, required=False, max_length=MAX_RULES)
    recollect = serializers.BooleanField(required=False, help_text="Collect excluded work again.")
    panel = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=20,
        help_text="Whose policy binds the rules: prolific, or nothing.",
    )
    minutes = serializers.IntegerField(required=False, help_text="What the study takes a participant.")


class QualityRulesOut(serializers.Serializer):
    rules = RuleShape(many=True)
    recollect = serializers.BooleanField()
    panel = serializers.CharField()
    minutes = serializers.IntegerField()


class RuleFindingOut(serializers.Serializer):
    pseudonym = serializers.CharField()
    state = serializers.CharField()
    evidence = serializers.ListField(child=serializers.DictField())
    acted = serializers.BooleanField(help_text="The rule has acted on them before.")


class RulePreviewOut(serializers.Serializer):
    rule = serializers.CharField(help_text="Its key.")
    n_raters = serializers.IntegerField(help_text="Who meet it.")
    n_new = serializers.IntegerField(help_text="On whom it would act now.")
    n_judgments = serializers.IntegerField(help_text="That its action would exclude.")
    examples = RuleFindingOut(many=True)


class QualityPreviewOut(serializers.Serializer):
    rules = RulePreviewOut(many=True)


class QualityRulesView(APIView):
    @operation("quality_rules", QualityRulesOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """The rules about the quality of raters' work."""
        return _rules_response(access.managed_study(request.user, slug))

    @operation("change_quality_rules", QualityRulesOut, 400, 403, 404, request=QualityRulesIn)
    def patch(self, request: Request, slug: str) -> Response:
        """Change some of the settings; `rules` are replaced by those given. Rules that are on look at the raters' work
        within a minute."""
        study = access.managed_study(request.user, slug)
        values = _plain(QualityRulesIn.parsed(request.data))
        return _rules_response(automation.set_rules(study, actor=request.user, **values))


def _rules_response(study: Study) -> Response:
    return Response(QualityRulesOut(QualityRules.of(study.rules).as_json()).data)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Without the ordered dictionaries of the serializers."""
    if "rules" in values:
        values["rules"] = [
            {**rule, "conditions": [dict(one) for one in rule["conditions"]]} for rule in values["rules"]
        ]
    return values


class QualityPreviewView(APIView):
    @operation("preview_quality_rules", QualityPreviewOut, 400, 403, 404, request=QualityRulesIn)
    def post(self, request: Request, slug: str) -> Response:
        """What these rules, on or off, would do with the work there is. Changes nothing."""
        study = access.managed_study(request.user, slug)
        values = {**QualityRules.of(study.rules).as_json(), **_plain(QualityRulesIn.parsed(request.data))}
        if problems := rule_decisions.problems_of(values):
            raise InvalidInput("These rules cannot be used.", problems=problems)
        quality.freshen(study)
        previews = automation.preview(study, rule_decisions.from_json(values))
        return Response(QualityPreviewOut({"rules": list(_previews(previews))}).data)


def _previews(previews: Iterable[RulePreview]) -> Iterable[dict[str, Any]]:
    for one in previews:
        yield {
            "rule": one.rule.key, "n_raters": one.n_raters, "n_new": one.n_new, "n_judgments": one.n_judgments,
            "examples": [
                {"pseudonym": each.name, "state": each.state, "evidence": each.evidence, "acted": each.acted}
                for each in one.examples
            ],
        }  # fmt: skip


# ── Actions ──────────────────────────────────────────────────────────────────


class RaterActionIn(In):
    action = serializers.ChoiceField(RaterAction.Kind.choices)
    reason = serializers.CharField(max_length=actions.MAX_REASON, help_text="For those who run the study.")
    message = serializers.CharField(
        default="", allow_blank=True, max_length=actions.MAX_MESSAGE, help_text="Shown to the rater."
    )


class RaterActionOut(Out):
    shape = RaterAction
    shown = "id kind rule reason evidence n_judgments created_at reverted_at"
    notes = {"rule": "Empty where a person did it.", "n_judgments": "Excluded by it."}
    pseudonym = serializers.CharField(source="rater.pseudonym")
    evidence = serializers.ListField(child=serializers.DictField(), help_text="Figures that the rule saw.")


class RaterActionsView(APIView):
    @operation("rater_actions", page_of(RaterActionOut), 400, 403, 404, parameters=paging.PARAMETERS)
    def get(self, request: Request, slug: str) -> Response:
        """What was done about raters, by rules and by people."""
        study = access.managed_study(request.user, slug)
        rows = RaterAction.objects.filter(study=study).select_related("rater")
        return Response(paging.page(request, rows, RaterActionOut))


class ActOnRaterView(APIView):
    @operation("act_on_rater", RaterActionOut, 400, 403, 404, 409, status=201, request=RaterActionIn)
    def post(self, request: Request, slug: str, pseudonym: str) -> Response:
        """Warn a rater, ask them for training again, pause them, or exclude them, from now on or with all judgments.
        They are told in plain words; each action can be reverted."""
        rater = access.rater_by_pseudonym(request.user, slug, pseudonym)
        values = RaterActionIn.parsed(request.data)
        recollect = QualityRules.of(rater.study.rules).recollect
        kind = values.pop("action")
        action = actions.act(rater, kind, actor=request.user, recollect=recollect, **values)
        return Response(RaterActionOut(action).data, status=201)


class RevertRaterActionView(APIView):
    @operation("revert_rater_action", RaterActionOut, 403, 404, 409, request=None)
    def post(self, request: Request, slug: str, pseudonym: str, action_id: int) -> Response:
        """Take an action back: the rater's state, and what it excluded."""
        action = access.rater_action_of(request.user, slug, pseudonym, action_id)
        return Response(RaterActionOut(actions.revert(action, actor=request.user)).data)


# ── What a rater is told ─────────────────────────────────────────────────────


class NoticeOut(Out):
    shape = RaterNotice
    shown = "kind text created_at"
    notes = {"kind": "What was done.", "text": "Words of those who run the study."}


class NoticesOut(serializers.Serializer):
    results = NoticeOut(many=True)


class NoticesView(APIView):
    @operation("notices", NoticesOut, 403, 404)
    def get(self, request: Request, slug: str) -> Response:
        """What the rater who asks is told about their own work, the newest first."""
        rater = access.rater_of(request.user, slug)
        return Response(NoticesOut({"results": actions.open_notices(rater)}).data)

    @operation("dismiss_notices", NoticesOut, 403, 404)
    def delete(self, request: Request, slug: str) -> Response:
        """They have read it."""
        actions.dismiss_notices(access.rater_of(request.user, slug))
        return Response(NoticesOut({"results": []}).data)
