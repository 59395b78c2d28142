"""AQEval's aggregation of "correct" and "incorrect" into 1, 0.5 and 0, in its columns.

Of five votes 4 or 5 "correct" make 1, 2 or 3 make 0.5, fewer make 0 (AURA Score, a metric for holistic audio question
answering evaluation, section 2 and figure 4). Of another number of votes the same shares decide: four fifths and more,
two fifths and more.
"""

from __future__ import annotations

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
    Column("source", "string", "where the item comes from, where the study says so"),
    Column("filename", "string", "the file of the recording"),
    Column("type", "string", "the item's type, where the study says so (binary, word, short, …)"),
    Column("question", "string", "what was asked"),
    Column("reference", "string", "the right answer"),
    Column("model", "string", "who answered"),
    Column("response", "string", "the answer that was judged"),
    Column("final_annotation", "float", "1, 0.5 or 0"),
    Column("n_correct", "int", "votes that it is correct"),
    Column("n_votes", "int", "all votes on it"),
    *shared_columns("item", "texts"),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    content = judged.content
    for slot, output in enumerate(judged.outputs):
        values = [
            answer.value
            for _, answer in judged.answers(questions[0].key, slot=slot)
            if answer.value is not None
        ]
        if not values:
            continue
        if len(values) < context.options.min_votes:
            context.left_out["fewer votes than asked for"] += 1
            continue
        context.noted["answers with another number of votes than five"] += len(values) != 5
        correct = sum(value == 1 for value in values)
        yield {
            **shared_cells(judged, questions[0].key),
            "source": judged.strata.get("source", ""),
            "filename": content.clip.file_name if content.clip else "",
            "type": judged.strata.get("type", ""),
            "question": content.question or content.prompt,
            "reference": content.reference,
            "model": output.system,
            "response": output.shown,
            "final_annotation": aggregated(correct, len(values)),
            "n_correct": correct,
            "n_votes": len(values),
        }


def aggregated(correct: int, votes: int) -> float:
    """In whole numbers: 3 of 5 and 6 of 10 are the same share on every machine."""
    if 5 * correct >= 4 * votes:
        return 1.0
    return 0.5 if 5 * correct >= 2 * votes else 0.0


def fault(question: Question) -> str:
    if set(question.points) == {0.0, 1.0}:
        return ""
    return f"AQEval sums up votes of correct (1) or incorrect (0), and {question.key!r} is on another scale. Use mos."
