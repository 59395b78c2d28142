"""What the endpoints about models that write take and give."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.api.paging import PageIn, PageOut
from annotation.api.shapes import In
from annotation.api.tables import TableField
from annotation.rules.review import CORRECTABLE
from scoring.api.shapes import OptionOut
from scoring.models import Writer, WritingRow, WritingRun
from scoring.services import writing_runs


class WriterKindOut(serializers.Serializer):
    writes = serializers.ChoiceField(Writer.Writes.choices)
    title = serializers.CharField()
    summary = serializers.CharField()
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


class WriterOut(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    writes = serializers.ChoiceField(Writer.Writes.choices)
    backbone = serializers.CharField()
    options = serializers.DictField()
    prompt = serializers.DictField()
    system = serializers.CharField(source="system.name", default="")
    per_minute = serializers.IntegerField(allow_null=True)
    price_in = serializers.FloatField(allow_null=True)
    price_out = serializers.FloatField(allow_null=True)
    drafts = serializers.BooleanField()
    retired = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class WriterPageOut(PageOut):
    results = WriterOut(many=True)


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


class WritingRunOut(serializers.Serializer):
    id = serializers.IntegerField()
    study = serializers.SlugField(source="study.slug")
    writer = serializers.IntegerField(source="writer_id", allow_null=True, help_text="Null for a file.")
    name = serializers.SerializerMethodField(help_text="Of the writer or the file.")
    purpose = serializers.CharField()
    state = serializers.CharField()
    filter = serializers.DictField()
    publishes = serializers.BooleanField()
    publishing = serializers.BooleanField(help_text="Texts that were looked at are being published.")
    identity = serializers.DictField(help_text="What opened: weights, prompt, dtype.")
    n_rows = serializers.IntegerField()
    n_done = serializers.IntegerField()
    n_failed = serializers.IntegerField()
    n_published = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    cost = serializers.SerializerMethodField(help_text="At the writer's prices now; null without any.")
    message = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_name(self, run: WritingRun) -> str:
        return run.writer.name if run.writer else run.source

    @extend_schema_field(serializers.FloatField(allow_null=True))
    def get_cost(self, run: WritingRun) -> float | None:
        return writing_runs.cost(run)


class WritingRunPageOut(PageOut):
    results = WritingRunOut(many=True)


class TakenInOut(serializers.Serializer):
    n_rows = serializers.IntegerField()
    n_there = serializers.IntegerField(help_text="Rows that say what is there already.")
    run = WritingRunOut(allow_null=True, help_text="Null where nothing was new.")


class WrittenRowsIn(PageIn):
    fault = serializers.CharField(required=False, max_length=40)


class WrittenRowOut(serializers.Serializer):
    id = serializers.IntegerField()
    item = serializers.CharField(source="item_version.item.external_id")
    version = serializers.IntegerField(source="item_version.number")
    field = serializers.CharField(help_text="Empty for an answer.")
    system = serializers.CharField(source="system.name", default=None, allow_null=True)
    state = serializers.SerializerMethodField()
    fault = serializers.CharField(help_text="Why there is no text, or why it was not published.")
    reason = serializers.CharField()
    text = serializers.CharField()
    cut = serializers.BooleanField(help_text="It had more to say and was stopped.")
    written_at = serializers.DateTimeField(allow_null=True)
    published_at = serializers.DateTimeField(allow_null=True)

    def get_state(self, row: WritingRow) -> str:
        return WritingRow.State(row.state).name.lower()


class WrittenPageOut(PageOut):
    results = WrittenRowOut(many=True)


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


class DraftOut(serializers.Serializer):
    id = serializers.IntegerField()
    field = serializers.ChoiceField([(name, name) for name in CORRECTABLE])
    writer = serializers.CharField()
    state = serializers.CharField()
    text = serializers.CharField()
    problem = serializers.CharField()
    provenance = serializers.DictField()
    created_at = serializers.DateTimeField()
    written_at = serializers.DateTimeField(allow_null=True)


class DraftWriterOut(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    field = serializers.CharField(source="writes")
    drafts = serializers.BooleanField()


class DraftsOut(serializers.Serializer):
    results = DraftOut(many=True)
    writers = DraftWriterOut(many=True, help_text="Those that can be asked.")


class DraftOutcomeOut(serializers.Serializer):
    writer = serializers.CharField()
    field = serializers.CharField()
    waiting = serializers.IntegerField()
    proposed = serializers.IntegerField()
    accepted = serializers.IntegerField()
    edited = serializers.IntegerField()
    rejected = serializers.IntegerField()
    unused = serializers.IntegerField()
    late = serializers.IntegerField(help_text="Had not come when their case was decided.")
    failed = serializers.IntegerField()
    accepted_unedited = serializers.FloatField(allow_null=True, help_text="Share of those decided about.")


class DraftOutcomesOut(serializers.Serializer):
    results = DraftOutcomeOut(many=True)


def wanted(body: dict[str, Any], writer: Writer | None = None) -> dict[str, Any]:
    """A writer's settings: as it is, where it is, with what was asked for."""
    names = (
        "name",
        "writes",
        "backbone",
        "options",
        "prompt",
        "per_minute",
        "price_in",
        "price_out",
        "drafts",
    )
    now = {name: getattr(writer, name) for name in names} if writer else {}
    if writer and writer.system:
        now["system"] = writer.system.name
    return {**now, **{name: value for name, value in body.items() if name != "retired"}}
