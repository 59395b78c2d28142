"""What the endpoints about received files take and give."""

from __future__ import annotations

from rest_framework import serializers

from annotation import protocols
from annotation.api.job_shapes import ColumnMapField
from annotation.api.shapes import In
from annotation.importers import FORMATS

FORMAT_CHOICES = [(key, found.title) for key, found in FORMATS.items()]


class UploadIn(In):
    file = serializers.ListField(
        child=serializers.FileField(allow_empty_file=True), min_length=1, help_text="One, or a folder's."
    )
    path = serializers.ListField(
        child=serializers.CharField(max_length=1000),
        default=list,
        help_text="The files' paths inside their folder, in the order of the files.",
    )
    study = serializers.SlugField(default="", allow_blank=True, help_text="Empty to make a new one.")


class UploadLookIn(In):
    format = serializers.ChoiceField(
        FORMAT_CHOICES, default="", allow_blank=True, help_text="Read it so; as it looks by default."
    )


class ColumnOut(serializers.Serializer):
    name = serializers.CharField()
    type = serializers.CharField(help_text="What the first rows hold: number, sound, text, …")
    suggested = serializers.CharField(help_text="The field that it most likely holds, or empty.")


class UploadOut(serializers.Serializer):
    id = serializers.UUIDField()
    study = serializers.SlugField(allow_null=True)
    name = serializers.CharField()
    n_files = serializers.IntegerField()
    n_bytes = serializers.IntegerField()
    format = serializers.CharField(help_text="Empty where it looks like none known here.")
    why = serializers.CharField(help_text="Why it was taken for its format, when nobody said.")
    columns = ColumnOut(many=True, help_text="None where the columns of the format are fixed.")
    rows = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()), help_text="The first ten, as texts."
    )


class NewStudyIn(In):
    slug = serializers.SlugField(max_length=80)
    title = serializers.CharField(max_length=200)
    preset = serializers.ChoiceField([(key, key) for key in protocols.preset_keys()])
    overlap = serializers.IntegerField(default=3, min_value=1, max_value=1000)


class UploadImportIn(In):
    format = serializers.ChoiceField(FORMAT_CHOICES)
    column_map = ColumnMapField(default=dict, help_text='{"your column": "our field"}')
    overlap = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=1000)
    archive = serializers.BooleanField(default=False)
    dry_run = serializers.BooleanField(default=False)
    skip_bad_rows = serializers.BooleanField(default=False)
    new_study = NewStudyIn(
        default=None, allow_null=True, help_text="The study to make, where none was named."
    )
