"""What the endpoints about single items, tasks and protocol versions give: for those who run the study."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.content_shapes import CandidateRowOut
from annotation.api.paging import PageOut
from annotation.models import Correction, Item, ItemVersion, Task


class CorrectionOut(serializers.Serializer):
    id = serializers.IntegerField()
    item_id = serializers.IntegerField(source="version_after.item_id")
    item = serializers.CharField(source="version_after.item.external_id")
    field = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()
    reason = serializers.CharField()
    comment = serializers.CharField()
    origin = serializers.ChoiceField(Correction.Origin.choices)
    version_before = serializers.IntegerField(source="version_before.number")
    version_after = serializers.IntegerField(source="version_after.number")
    undone = serializers.BooleanField(source="version_after.retracted")
    case = serializers.IntegerField(source="case_id", allow_null=True)
    author = serializers.CharField(source="author.name")
    created_at = serializers.DateTimeField()


class CorrectionPageOut(PageOut):
    results = CorrectionOut(many=True)


class ItemVersionOut(serializers.Serializer):
    number = serializers.IntegerField()
    prompt = serializers.CharField()
    lyrics = serializers.CharField()
    question = serializers.CharField()
    reference = serializers.CharField()
    rationale = serializers.CharField()
    transcript = serializers.CharField()
    extra = serializers.DictField()
    content_sha256 = serializers.CharField()
    retracted = serializers.BooleanField(help_text="The correction that made it was undone.")
    is_current = serializers.SerializerMethodField()
    created_by = serializers.CharField(source="created_by.name", default=None, allow_null=True)
    created_at = serializers.DateTimeField()
    candidates = CandidateRowOut(source="candidates.all", many=True)

    def get_is_current(self, version: ItemVersion) -> bool:
        return version.pk == version.item.current_version_id


class ItemInFullOut(serializers.Serializer):
    """An item with all of its versions, the oldest first. What people said of it is at …/history/."""

    id = serializers.IntegerField()
    external_id = serializers.CharField()
    state = serializers.ChoiceField(Item.State.choices)
    strata = serializers.DictField()
    created_at = serializers.DateTimeField()
    versions = ItemVersionOut(many=True)
    corrections = CorrectionOut(many=True)


class TaskOut(serializers.Serializer):
    id = serializers.IntegerField()
    external_id = serializers.CharField()
    item_id = serializers.IntegerField(source="item_version.item_id")
    item = serializers.CharField(source="item_version.item.external_id")
    version = serializers.IntegerField(source="item_version.number")
    kind = serializers.SerializerMethodField()
    state = serializers.SerializerMethodField()
    overlap = serializers.IntegerField(help_text="Judgments that it wants.")
    n_judgments = serializers.IntegerField(help_text="That count: effective and not excluded.")
    n_leases = serializers.IntegerField(help_text="Raters who have it open now.")
    wants_more = serializers.BooleanField()
    systems = serializers.SerializerMethodField(help_text="In canonical order.")

    def get_kind(self, task: Task) -> str:
        return Task.Kind(task.kind).name.lower()

    def get_state(self, task: Task) -> str:
        return Task.State(task.state).name.lower()

    def get_systems(self, task: Task) -> list[str]:
        return [slot.candidate.system.name for slot in task.slots.all()]


class TaskPageOut(PageOut):
    results = TaskOut(many=True)


class ProtocolVersionOut(serializers.Serializer):
    number = serializers.IntegerField()
    preset = serializers.CharField()
    definition = serializers.DictField()
    definition_sha256 = serializers.CharField()
    created_by = serializers.CharField(source="created_by.name", default=None, allow_null=True)
    created_at = serializers.DateTimeField()


class ProtocolVersionPageOut(PageOut):
    results = ProtocolVersionOut(many=True)
