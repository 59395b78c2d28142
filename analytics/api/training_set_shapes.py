"""What the endpoints of training sets take and give."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from analytics.training_sets.formats import FORMATS
from analytics.training_sets.options import (
    GROUPS,
    MEANINGS,
    MOST_RATIO,
    MOST_SEED,
    ORIGINS,
    Options,
    TrainingSetError,
)
from annotation.api.shapes import In
from annotation.errors import InvalidInput
from annotation.models import Job

_KINDS_OF_FILE = sorted({kind for one in FORMATS.values() for kind in one.files})


def _choice(name: str, **usual: Any) -> serializers.ChoiceField:
    return serializers.ChoiceField([*MEANINGS[name]], **usual)


class TrainingSetIn(In):
    """What is left out is what is usual for the format."""

    format = serializers.ChoiceField([(one.key, one.title) for one in FORMATS.values()])
    file = serializers.ChoiceField(_KINDS_OF_FILE, required=False)
    questions = serializers.ListField(
        child=serializers.CharField(max_length=40), max_length=100, required=False, help_text="All that fit."
    )
    texts = _choice("texts", default="corrected")
    votes = serializers.ListField(
        child=serializers.ChoiceField(ORIGINS),
        min_length=1,
        default=["rated", "imported"],
        help_text="Simulated votes are in no set that does not name them.",
    )
    ties = _choice("ties", required=False)
    rows = _choice("rows", required=False, help_text="Of cmi-pref.")
    weights = _choice("weights", default="equal")
    confidence = _choice("confidence", default="column")
    margin = _choice("margin", default="log-odds")
    smoothing = serializers.FloatField(
        min_value=0.001, max_value=100, default=0.5, help_text="Votes added to each side."
    )
    min_votes = serializers.IntegerField(min_value=1, max_value=1000, default=1)
    groups = serializers.ListField(
        child=serializers.ChoiceField(GROUPS),
        default=list(GROUPS),
        help_text="What is in no two splits, besides items.",
    )
    hold_out_systems = serializers.ListField(
        child=serializers.CharField(max_length=200),
        max_length=1000,
        default=list,
        help_text="In the test split alone.",
    )
    ratios = serializers.ListField(
        child=serializers.FloatField(min_value=0, max_value=MOST_RATIO),
        min_length=3,
        max_length=3,
        default=[8, 1, 1],
        help_text="Train, dev and test.",
    )
    seed = serializers.IntegerField(min_value=0, max_value=MOST_SEED, default=0)
    audio = serializers.BooleanField(default=False, help_text="With the sounds themselves.")

    @classmethod
    def options(cls, data: Any) -> Options:
        try:
            return Options.of(cls.parsed(data))
        except TrainingSetError as error:
            raise InvalidInput(str(error), code=error.code) from error


class TrainingSetOut(serializers.Serializer):
    job = serializers.UUIDField()
    state = serializers.ChoiceField(Job.State.choices)
    file = serializers.CharField(help_text="Path of the archive once the job is done.")


class SizesOut(serializers.Serializer):
    train = serializers.IntegerField()
    dev = serializers.IntegerField()
    test = serializers.IntegerField()


class TablePreviewOut(serializers.Serializer):
    name = serializers.CharField(help_text="A question, or `default`.")
    sizes = SizesOut(help_text="Rows by split.")
    first = serializers.ListField(child=serializers.DictField(), help_text="The first rows.")


class TrainingSetPreviewOut(serializers.Serializer):
    columns = serializers.ListField(child=serializers.CharField())
    tables = TablePreviewOut(many=True)
    left_out = serializers.DictField(child=serializers.IntegerField(), help_text="Counts by reason.")
    groups = serializers.IntegerField(help_text="Which no split parts.")
    tasks = serializers.IntegerField(help_text="That were looked at: all figures are of these.")
    tasks_in_all = serializers.IntegerField()
