"""Quality of raters: one maintained row for each, by which the table of raters is filtered and sorted.

`analytics.raters.quality` keeps the rows up to date behind the votes; no page computes one.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from annotation.models.job import SweepMark


class RaterQuality(models.Model):
    """Figures of one rater's work so far, of their standing judgments of regular tasks, excluded ones among them: what
    a rater was excluded for is to be seen afterwards. They are compared with judgments of others that count.

    Null where there is nothing to tell a figure from; the number it rests on stands beside it. `details`: intervals and
    what else the rater's page shows. `sums`: float64, as `analytics.raters.quality.Layout` reads them.
    """

    rater = models.OneToOneField(
        "annotation.Rater", models.CASCADE, primary_key=True, related_name="quality", db_constraint=False
    )
    study_id = models.BigIntegerField()
    name = models.CharField(max_length=40)
    state = models.CharField(max_length=10)
    n_judgments = models.IntegerField(default=0)
    n_excluded = models.IntegerField(default=0)
    n_skips = models.IntegerField(default=0)
    last_judged_at = models.DateTimeField(null=True)
    # Hidden checks with an expected answer: gold tasks and traps.
    n_checks = models.IntegerField(default=0)
    n_failed = models.IntegerField(default=0)
    check_accuracy = models.FloatField(null=True)
    n_gold = models.IntegerField(default=0)
    gold_accuracy = models.FloatField(null=True)
    n_traps = models.IntegerField(default=0)
    trap_accuracy = models.FloatField(null=True)
    n_repeats = models.IntegerField(default=0)
    consistency = models.FloatField(null=True)
    # Alpha of this rater with the rest over all questions, and what the first question's alpha gains without them.
    n_compared = models.IntegerField(default=0)
    agreement = models.FloatField(null=True)
    agreements = ArrayField(models.FloatField(null=True), default=list)
    alpha_gain = models.FloatField(null=True)
    # Log10 of the likelihood that answers follow what is judged, against that they do not.
    content = models.FloatField(null=True)
    n_sided = models.IntegerField(default=0)
    first_share = models.FloatField(null=True)
    position_bias = models.FloatField(null=True)
    n_rated = models.IntegerField(default=0)
    variance = models.FloatField(null=True)
    n_answers = models.IntegerField(default=0)
    entropy = models.FloatField(null=True)
    longest_run = models.IntegerField(default=0)
    n_timed = models.IntegerField(default=0)
    seconds = models.FloatField(null=True)
    n_sounded = models.IntegerField(default=0)
    hasty = models.FloatField(null=True)
    n_heard = models.IntegerField(default=0)
    heard = models.FloatField(null=True)
    n_confident = models.IntegerField(default=0)
    overconfidence = models.FloatField(null=True)
    code_share = models.FloatField(null=True)
    deviation = models.FloatField(null=True)
    # Kinds of `RaterAction` that stand.
    actions = ArrayField(models.CharField(max_length=12), default=list)
    details = models.JSONField(default=dict)
    sums = models.BinaryField(default=b"")
    computed_at = models.DateTimeField(default=timezone.now)
    # Of the answers that the row rests on, how many have changed since, and when the first of them did.
    n_changes = models.IntegerField(default=0, db_default=0)
    changed_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["study_id", "rater"], name="rater_quality_keyset"),
            models.Index(fields=["study_id", "name", "rater"], name="rater_quality_by_name"),
            models.Index(
                fields=["study_id", "changed_at"],
                condition=models.Q(changed_at__isnull=False),
                name="rater_quality_waiting",
            ),
        ]


class QualitySweep(SweepMark):
    """How far the rows of a study have followed its data. `layout`: the questions that they compare and on which
    values: where these change, all rows are computed anew. `alphas`: the study's, by question."""

    layout = models.JSONField(default=list)
    alphas = models.JSONField(default=dict)
    whole_at = models.DateTimeField(null=True)
    # Those that have acted on all figures as they stand: the next time they look at what has moved.
    rules = models.JSONField(default=dict, db_default={})
