"""Mean opinions: a row per judged output, with its mean, standard deviation and number of ratings, and each of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from analytics.datasets.formats.contract import BuildContext, Column, JudgedTask, Question, Row

COLUMNS = (
    Column("item", "string", "the item"),
    Column("system", "string", "who made what was rated"),
    Column("mean", "float", "mean rating, each weighing the same"),
    Column("sd", "float", "standard deviation (n - 1); empty below two ratings"),
    Column("n", "int", "ratings"),
    Column("question", "string", "what was asked of the raters"),
    Column("task", "string", "the task"),
    Column("take", "int", "which output of that system for that item"),
    Column("texts", "string", "original or corrected: which texts the item had"),
    Column("prompt", "string", "what was asked for"),
    Column("asked", "string", "the question that was to be answered"),
    Column("lyrics", "string", "the lyrics asked for"),
    Column("item_file_name", "string", "the item's own sound"),
    Column("reference_file_name", "string", "the sound that the prompt refers to"),
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


def rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    key = questions[0].key
    for slot, output in enumerate(judged.outputs):
        given = [(said, one.value) for said, one in judged.answers(key, slot=slot) if one.value is not None]
        if not given:
            continue
        if len(given) < making.options.min_votes:
            making.left_out["fewer ratings than asked for"] += 1
            continue
        values = [value for _, value in given]
        yield {
            "item": judged.item,
            "system": output.system,
            "mean": statistics.fmean(values),
            "sd": statistics.stdev(values) if len(values) > 1 else None,
            "n": len(values),
            "question": key,
            "task": judged.task,
            "take": output.take,
            "texts": "corrected" if judged.corrected else "original",
            "prompt": judged.content.prompt,
            "asked": judged.content.question,
            "lyrics": judged.content.lyrics,
            "item_file_name": judged.content.clip and judged.content.clip.file_name,
            "reference_file_name": judged.content.reference_clip and judged.content.reference_clip.file_name,
            "output": output.shown,
            "file_name": output.clip and output.clip.file_name,
            "ratings": values,
            "raters": [said.rater for said, _ in given],
            "inclusion_probabilities": [said.inclusion for said, _ in given],
            "scores": [
                {"scorer": one.scorer, "output": one.output, "value": one.value}
                for one in sorted(judged.scores, key=lambda one: (one.scorer, one.output))
                if one.slot == slot and one.other is None
            ],
        }
