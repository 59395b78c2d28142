"""Summaries of tasks and items, by which the tables of a study's data are filtered and sorted.

One narrow row each, updated in the background (`analytics.browse.summaries`): a scan of a million of them takes a tenth
of a second, so no filter takes long, however few rows match. What they repeat may be some seconds old; a sweep's mark
says how old.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce

from annotation.models.job import SweepMark

# An unknown value sorts before every known one.
UNKNOWN = -1.0
# Of tasks that are not regular.
OTHER_KINDS = [2, 3, 4, 5]


class Summary(models.Model):
    """What raters have done to a task, or to the tasks of an item. Counts are of judgments that count, unless they say
    otherwise.

    disagreement: `analytics.data.disagreement`, from 0 (all agree) to 1. gap: between what the study's
    scorer predicts and what people answered, from 0 to 1. Null where nothing can be compared.
    """

    study_id = models.BigIntegerField()
    name = models.CharField(max_length=300)
    state = models.PositiveSmallIntegerField()
    n_judgments = models.PositiveIntegerField(default=0)
    n_wanted = models.PositiveIntegerField(default=0)
    n_excluded = models.PositiveIntegerField(default=0)
    n_skips = models.PositiveIntegerField(default=0)
    n_comments = models.PositiveIntegerField(default=0)
    flagged = models.BooleanField(default=False)
    disagreement = models.FloatField(null=True)
    mean = models.FloatField(null=True)
    gap = models.FloatField(null=True)
    last_judged_at = models.DateTimeField(null=True)
    systems = ArrayField(models.BigIntegerField(), default=list)
    codes = ArrayField(models.CharField(max_length=16), default=list)
    # Of the item, each as "name=value".
    strata = ArrayField(models.TextField(), default=list)

    class Meta:
        abstract = True


def _indexes(prefix: str, key: str) -> list[models.Index]:
    """What the tables can be sorted by is in the order of an index; what a filter lets through and most rows are not is
    in one of its own, in the order of the table; and rare values of the others are found by theirs."""

    def rows_that(name: str, condition: Q, *fields: str) -> models.Index:
        return models.Index(fields=["study_id", *fields, key], name=f"{prefix}_{name}", condition=condition)

    return [
        models.Index(fields=["study_id", key], name=f"{prefix}_study_keyset"),
        models.Index(fields=["study_id", "name", key], name=f"{prefix}_by_name"),
        models.Index(fields=["study_id", "n_judgments", key], name=f"{prefix}_by_judgments"),
        models.Index(
            F("study_id"), Coalesce("disagreement", Value(UNKNOWN)), F(key), name=f"{prefix}_by_disagreement"
        ),
        models.Index(F("study_id"), Coalesce("gap", Value(UNKNOWN)), F(key), name=f"{prefix}_by_gap"),
        models.Index(fields=["study_id", "mean", key], name=f"{prefix}_by_mean"),
        models.Index(fields=["study_id", "last_judged_at", key], name=f"{prefix}_by_last_judged"),
        rows_that("flagged", Q(flagged=True)),
        rows_that("excluded", Q(n_excluded__gt=0)),
        rows_that("skipped", Q(n_skips__gt=0)),
        rows_that("commented", Q(n_comments__gt=0)),
        rows_that("untouched", Q(n_judgments=0)),
        rows_that("begun", Q(n_judgments__gt=0, n_judgments__lt=F("n_wanted"))),
        rows_that("complete", Q(n_judgments__gte=F("n_wanted"))),
        rows_that("state", ~Q(state=1), "state"),
        GinIndex(fields=["strata", "codes", "systems"], name=f"{prefix}_by_parts"),
    ]


class TaskSummary(Summary):
    """`mean`: of the study's first question: the mean rating, or from -1 to 1 how far the first is preferred."""

    task_id = models.BigIntegerField(primary_key=True)
    item_id = models.BigIntegerField()
    kind = models.PositiveSmallIntegerField()

    class Meta:
        indexes = [
            *_indexes("task_summary", "task_id"),
            models.Index(fields=["item_id"], name="task_summary_of_item"),
            models.Index(
                fields=["study_id", "kind", "task_id"], name="task_summary_kind", condition=~Q(kind=1)
            ),
        ]


class ItemSummary(Summary):
    """Of the tasks of the item's current version: sums, and the greatest disagreement and gap. `kinds` are theirs."""

    item_id = models.BigIntegerField(primary_key=True)
    n_tasks = models.PositiveIntegerField(default=0)
    kinds = ArrayField(models.PositiveSmallIntegerField(), default=list)

    class Meta:
        indexes = [
            *_indexes("item_summary", "item_id"),
            models.Index(
                fields=["study_id", "item_id"],
                name="item_summary_kinds",
                condition=Q(kinds__overlap=OTHER_KINDS),
            ),
        ]


class ItemText(models.Model):
    """What an item is searched by: its name and texts, as words for PostgreSQL's text search."""

    item_id = models.BigIntegerField(primary_key=True)
    study_id = models.BigIntegerField()
    text = models.TextField()
    words = SearchVectorField()

    class Meta:
        indexes = [GinIndex(fields=["words"], name="item_text_by_words")]


class SummarySweep(SweepMark):
    """How far the summaries of a study have followed its data. `whole_at`: when all of them were last recomputed."""

    whole_at = models.DateTimeField(null=True)
