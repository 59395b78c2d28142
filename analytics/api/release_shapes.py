"""What the endpoints about releases take and give."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from analytics.releases.wishes import AUDIO, Wishes
from analytics.services import releases
from annotation.api.paging import PageOut
from annotation.api.shapes import In
from annotation.models import Job


class ReleaseIn(In):
    audio = serializers.ChoiceField(
        AUDIO,
        default="",
        help_text="Clips to put in: canonical (what raters heard), original (what was handed in), or none.",
    )
    note = serializers.CharField(
        default="", allow_blank=True, max_length=2000, help_text="What it is for; stands in its card."
    )
    license = serializers.CharField(
        default="unknown", max_length=60, help_text="As the Hugging Face Hub names it, such as cc-by-4.0."
    )
    language = serializers.ListField(
        child=serializers.RegexField(r"^[A-Za-z-]{2,12}$"),
        default=list,
        max_length=20,
        help_text="Codes such as en.",
    )
    creator = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="Who publishes it."
    )
    url = serializers.URLField(
        default="", allow_blank=True, max_length=500, help_text="Where it is published."
    )

    @classmethod
    def wishes(cls, data: Any) -> Wishes:
        asked = cls.parsed(data)
        return Wishes(**{**asked, "language": tuple(asked["language"])})


class ReleaseJobOut(serializers.Serializer):
    job = serializers.UUIDField(help_text="Its report has the number of the release once it is done.")
    state = serializers.ChoiceField(Job.State.choices)


class ReleaseRowOut(serializers.Serializer):
    number = serializers.IntegerField()
    date = serializers.CharField(source="manifest.cut.date")
    sha256 = serializers.CharField(help_text="Of everything in it.")
    note = serializers.CharField(source="manifest.cut.wishes.note")
    file_bytes = serializers.IntegerField(help_text="Of its archive.")
    file_sha256 = serializers.CharField(
        help_text="Of its archive, to hold a download against; empty where none was noted."
    )
    has_file = serializers.SerializerMethodField(help_text="False once its archive was deleted.")
    withdrawn_since = serializers.SerializerMethodField(
        help_text="How many raters in it have asked since to be taken out. It is superseded once there is one."
    )
    created_at = serializers.DateTimeField()

    def get_has_file(self, release: Any) -> bool:
        return bool(release.file)

    def get_withdrawn_since(self, release: Any) -> int:
        return releases.withdrawn_since(release)


class ReleaseOut(ReleaseRowOut):
    manifest = serializers.DictField()
    differences = serializers.DictField(
        help_text="What is other than in the release before (`since`), and why; empty for the first. With `unknown`: "
        "`no_file` where that one's archive had been deleted, so that they could not be compared."
    )


class ReleasePageOut(PageOut):
    results = ReleaseRowOut(many=True)


class ReleasePreviewOut(serializers.Serializer):
    judgments = serializers.IntegerField(help_text="That it would tell of, whether or not they count.")
    excluded = serializers.IntegerField()
    surplus = serializers.IntegerField()
    removed = serializers.IntegerField(help_text="Raters of whom it would hold nothing.")
    anonymised = serializers.IntegerField(help_text="Raters whose answers it would hold without their name.")


class CertificateOut(serializers.Serializer):
    schema = serializers.IntegerField()
    study = serializers.CharField()
    rater = serializers.CharField()
    mode = serializers.CharField()
    in_force_since = serializers.CharField()
    note = serializers.CharField()
    left_the_figures = serializers.DictField(child=serializers.IntegerField())
    releases_before = serializers.ListField(child=serializers.DictField())
    exports_and_training_sets_before = serializers.CharField()
    sha256 = serializers.CharField(help_text="Of all the rest, as JSON with sorted keys and no blanks.")
