"""Mean opinions: a row per judged output, with its mean, standard deviation and number of ratings, and each of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from analytics.datasets.formats.contract import (
    BuildContext,
    Column,
    JudgedTask,
    Question,
    Row,
    shared_cells,
    shared_columns,
)

COLUMNS = (
    *shared_columns("item"),
    Column("system", "string", "who made what was rated"),
    Column("mean", "float", "mean rating, each weighing the same"),
    Column("sd", "float", "standard deviation (n - 1); empty below two ratings"),
    Column("n", "int", "ratings"),
    *shared_columns("question", "task"),
    Column("take", "int", "which output of that system for that item"),
    *shared_columns("texts", "prompt", "asked", "lyrics", "item_file_name", "reference_file_name"),
    Column("output", "string", "the answer, or the file of the sound"),
    Column("file_name", "string", "the file of the sound; empty for words"),
    Column("ratings", "floats", "every rating"),
    Column("raters", "strings", "pseudonym of each rating's rater, empty for one whom nobody named"),
    Column(
        "inclusion_probabilities",
        "floats",
        "the chance the task had when a policy drew it for each; empty elsewhere",
    ),
    Column("scores", "own_scores", "what models gave"),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    key = questions[0].key
    for slot, output in enumerate(judged.outputs):
        rated = [
            (judgment, answer.value)
            for judgment, answer in judged.answers(key, slot=slot)
            if answer.value is not None
        ]
        if not rated:
            continue
        if len(rated) < context.options.min_votes:
            context.left_out["fewer ratings than asked for"] += 1
            continue
        values = [value for _, value in rated]
        yield {
            **shared_cells(judged, key),
            "system": output.system,
            "mean": statistics.fmean(values),
            "sd": statistics.stdev(values) if len(values) > 1 else None,
            "n": len(values),
            "take": output.take,
            "output": output.shown,
            "file_name": output.file_name,
            "ratings": values,
            "raters": [judgment.rater for judgment, _ in rated],
            "inclusion_probabilities": [judgment.inclusion_probability for judgment, _ in rated],
            "scores": [
                {"scorer": one.scorer, "output": one.output, "value": one.value}
                for one in sorted(judged.scores, key=lambda one: (one.scorer, one.output))
                if one.slot == slot and one.other is None
            ],
        }
