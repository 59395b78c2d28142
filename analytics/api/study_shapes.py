"""What the endpoints about a study as a whole give: its overview, what has scored it, how scores lie."""

from __future__ import annotations

from rest_framework import serializers

from annotation.api.shapes import In


class OverviewIn(In):
    raters_after = serializers.CharField(required=False, max_length=40)


class StudyProgressOut(serializers.Serializer):
    items = serializers.IntegerField()
    tasks = serializers.IntegerField()
    tasks_complete = serializers.IntegerField()
    judgments = serializers.IntegerField(help_text="That count: effective and not excluded.")
    judgments_wanted = serializers.IntegerField(allow_null=True, help_text="Null until first computed.")
    surplus = serializers.IntegerField()
    skips = serializers.IntegerField()
    raters = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Of the judgments wanted, 0 to 1.")


class RaterRowOut(serializers.Serializer):
    pseudonym = serializers.CharField()
    origin = serializers.CharField()
    state = serializers.CharField()
    n_judgments = serializers.IntegerField()
    n_surplus = serializers.IntegerField()
    n_skips = serializers.IntegerField()
    last_judgment_at = serializers.DateTimeField(allow_null=True)
    screened = serializers.DictField(
        allow_null=True, help_text="By trials with a hidden reference, of MUSHRA."
    )
    discriminates = serializers.DictField(allow_null=True, help_text="By trials of ABX.")


class QuestionOverviewOut(serializers.Serializer):
    """Figures as last computed."""

    key = serializers.CharField()
    title = serializers.CharField()
    kind = serializers.CharField()
    level = serializers.CharField()
    histogram = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField()),
        help_text="Answers and how many gave each.",
    )
    means = serializers.ListField(child=serializers.DictField(), help_text="Of ratings, by system.")
    wins = serializers.ListField(child=serializers.DictField(), help_text="Of preferences, by system.")


class OverviewOut(serializers.Serializer):
    """A study at a glance; how far raters agree is at …/agreement/."""

    computed_at = serializers.DateTimeField(allow_null=True, help_text="Of all but the progress.")
    progress = StudyProgressOut()
    questions = QuestionOverviewOut(many=True)
    codes = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField()), help_text="Feedback codes and how often."
    )
    raters = RaterRowOut(many=True, help_text="By pseudonym.")
    raters_after = serializers.CharField(
        allow_null=True, help_text="Of the next raters; null on the last page."
    )
    stopped_early = serializers.DictField(allow_null=True)
    abx = serializers.DictField(allow_null=True)


class StudyScorerOut(serializers.Serializer):
    id = serializers.IntegerField(source="scorer.pk")
    scorer = serializers.CharField(source="scorer.key")
    digest = serializers.CharField(source="scorer.digest")
    config = serializers.DictField(source="scorer.config")
    latest_run = serializers.IntegerField(source="latest.pk")
    n_run = serializers.IntegerField(help_text="Rows that its runs here scored.")
    n_scored = serializers.IntegerField(
        allow_null=True,
        help_text="Current candidates, or pairs, that have its score; null: too many to count.",
    )


class StudyScorersOut(serializers.Serializer):
    n_candidates = serializers.IntegerField(allow_null=True, help_text="There are to score.")
    results = StudyScorerOut(many=True)


class DistributionOut(serializers.Serializer):
    output = serializers.CharField()
    n = serializers.IntegerField()
    mean = serializers.FloatField()
    sd = serializers.FloatField(allow_null=True)
    smallest = serializers.FloatField()
    largest = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    bins = serializers.ListField(
        child=serializers.IntegerField(), help_text="Counts over equal steps from low to high."
    )


class DistributionsOut(serializers.Serializer):
    results = DistributionOut(many=True)
