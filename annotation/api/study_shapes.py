"""What the study endpoints take and give."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Sum
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.models import ListeningCheck, Study
from annotation.models.people import Role
from annotation.protocols import preset_keys
from annotation.rules import ordering, stopping
from annotation.rules.listening import LOUDNESS, ListeningRules
from annotation.rules.listening_checks import KINDS
from annotation.services.listening_checks import settings_of


class StudyIn(In):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)
    preset = serializers.ChoiceField(preset_keys())
    description = serializers.CharField(default="", allow_blank=True, max_length=20_000)
    overlap = serializers.IntegerField(default=3, min_value=1, max_value=1000)
    order = serializers.ChoiceField(Study.Order.choices, default=Study.Order.SHUFFLED)
    lease_minutes = serializers.IntegerField(default=15, min_value=1, max_value=600)


class ListeningIn(In):
    """Zero switches a requirement off. Of a clip up to a minute the short rule holds, of a longer one the long rule."""

    short_seconds = serializers.FloatField(required=False, help_text="To be heard of a short clip.")
    short_share = serializers.FloatField(required=False, help_text="0 to 1; the larger of the two holds.")
    long_seconds = serializers.FloatField(required=False)
    long_share = serializers.FloatField(required=False)
    min_switches = serializers.IntegerField(required=False, help_text="Between the clips of a comparison.")
    fade_ms = serializers.IntegerField(required=False, help_text="Of a switch, 0 to 50.")
    loudness = serializers.ChoiceField(
        LOUDNESS,
        required=False,
        help_text="Play the clips of a task equally loud, or as they are. Fixed once the study runs.",
    )
    instruction_seconds = serializers.FloatField(
        required=False, help_text="On screen before clips can be played."
    )
    break_minutes = serializers.IntegerField(required=False, help_text="Of work until a break is suggested.")
    stop_minutes = serializers.IntegerField(
        required=False, help_text="Of work until no more tasks are shown."
    )
    change_minutes = serializers.IntegerField(required=False, help_text="In which a vote may be changed.")
    spectrogram = serializers.BooleanField(
        required=False, help_text="Whether raters may see one of each clip."
    )


class ChecksIn(In):
    """Which listening checks raters take before their first task, and when again."""

    require = serializers.ListField(
        child=serializers.ChoiceField(ListeningCheck.Kind.choices), required=False, max_length=len(KINDS)
    )
    valid_hours = serializers.IntegerField(required=False, help_text="Until a check is due again.")
    recheck_minutes = serializers.IntegerField(required=False, help_text="Of work; 0 leaves it to the hours.")
    gate = serializers.BooleanField(required=False, help_text="Whether only those who pass may work.")


class StoppingIn(In):
    """When a pair needs no more votes. Every task gets the study's overlap first, then one more at a time."""

    question = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Whose votes decide; empty for no stopping.",
    )
    threshold = serializers.FloatField(
        required=False, help_text="Decided once the majority is right with this chance."
    )
    most = serializers.IntegerField(
        required=False, allow_null=True, help_text="Votes that a task gets at most."
    )


class OrderingIn(In):
    """Which tasks come first: by what a vote would teach, with a share drawn from all that are open."""

    on = serializers.BooleanField(required=False, help_text="Off: the plain order. On unless said.")
    uniform = serializers.FloatField(
        required=False, help_text="Share of draws from all open tasks, from 0.2."
    )
    among = serializers.IntegerField(
        required=False, help_text="From how many of the first the rest is drawn."
    )
    uncertainty = serializers.FloatField(required=False, help_text="Weight of what the model is unsure of.")
    disagreement = serializers.FloatField(
        required=False, help_text="Weight of where votes so far contradict the model."
    )
    coverage = serializers.FloatField(required=False, help_text="Weight of having few judgments yet.")
    scorer = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="The model's name or a version's digest; empty for the one promoted in this study.",
    )


class StudyChangeIn(In):
    title = serializers.CharField(required=False, max_length=200)
    description = serializers.CharField(required=False, allow_blank=True, max_length=20_000)
    lease_minutes = serializers.IntegerField(required=False, min_value=1, max_value=600)
    state = serializers.ChoiceField(Study.State.choices, required=False)
    listening = ListeningIn(required=False)
    checks = ChecksIn(required=False)
    stopping = StoppingIn(required=False)
    ordering = OrderingIn(required=False)


class RoleOut(serializers.Serializer):
    study = serializers.SlugField(source="slug")
    title = serializers.CharField()
    role = serializers.ChoiceField(Role.choices)


class MeOut(serializers.Serializer):
    name = serializers.CharField()
    may_create_studies = serializers.BooleanField()
    roles = RoleOut(many=True)


class StudyOut(serializers.Serializer):
    """What any member may know; what is asked of raters is at …/protocol/."""

    slug = serializers.SlugField()
    title = serializers.CharField()
    description = serializers.CharField(help_text="Written for raters; they see it on the invitation.")
    state = serializers.ChoiceField(Study.State.choices)
    role = serializers.ChoiceField(Role.choices, help_text="Yours in this study.")


class StudyPageOut(PageOut):
    results = StudyOut(many=True)


class StudyDetailOut(StudyOut):
    """What those who run the study may know."""

    preset = serializers.CharField(source="protocol_version.preset", default=None)
    protocol_version = serializers.IntegerField(source="protocol_version.number", default=None)
    overlap = serializers.IntegerField()
    order = serializers.ChoiceField(Study.Order.choices)
    lease_minutes = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_tasks = serializers.IntegerField()
    n_judgments = serializers.SerializerMethodField(help_text="That count: effective and not excluded.")
    created_at = serializers.DateTimeField()
    listening = serializers.SerializerMethodField(help_text="What is asked of listening; all settings.")
    checks = serializers.SerializerMethodField(help_text="Which listening checks raters take; all settings.")
    stopping = serializers.SerializerMethodField(help_text="When a pair needs no more votes; all settings.")

    ordering = serializers.SerializerMethodField(help_text="Which tasks come first; all settings.")

    @extend_schema_field(OrderingIn)
    def get_ordering(self, study: Study) -> dict[str, Any]:
        return ordering.as_json(study.rules)

    @extend_schema_field(ChecksIn)
    def get_checks(self, study: Study) -> dict[str, Any]:
        return settings_of(study)

    @extend_schema_field(ListeningIn)
    def get_listening(self, study: Study) -> dict[str, Any]:
        return asdict(ListeningRules.of(study.rules))

    @extend_schema_field(StoppingIn)
    def get_stopping(self, study: Study) -> dict[str, Any]:
        return stopping.as_json(study.rules)

    def get_n_judgments(self, study: Study) -> int:
        by_raters: dict[str, Any] = study.raters.aggregate(n=Sum("n_judgments"))
        return (by_raters["n"] or 0) + study.n_unnamed_judgments
