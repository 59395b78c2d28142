"""Arena style: a row per vote, `model_a`, `model_b`, `winner`, as ranking tools read it. A is what was met first."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.datasets.formats.contract import (
    BOTH_BAD,
    FIRST,
    TIE,
    BuildContext,
    Column,
    JudgedTask,
    Question,
    Row,
    shared_cells,
    shared_columns,
)
from analytics.datasets.formats.pair_votes import UNDECIDED

TIES = ("keep", "drop")

COLUMNS = (
    Column("model_a", "string", "the system met first; where the order is unknown, that listed first"),
    Column("model_b", "string", "the other"),
    Column("winner", "string", "model_a, model_b, tie or both_bad"),
    Column("judge", "string", "pseudonym of the rater, empty for one whom nobody named"),
    *shared_columns(
        "question",
        "task",
        "item",
        "texts",
        "prompt",
        "lyrics",
        "asked",
        "item_file_name",
        "reference_file_name",
    ),
    Column("output_a", "string", "the answer of model_a, or its file"),
    Column("output_b", "string", "the answer of model_b, or its file"),
    Column("output_a_file_name", "string", "the file of model_a's sound; empty for words"),
    Column("output_b_file_name", "string", "the file of model_b's sound; empty for words"),
    Column("confidence", "float", "of the vote; empty where none was told"),
    Column("weight", "float", "what the vote weighs"),
    Column(
        "inclusion_probability", "float", "the chance the task had where a policy drew it; empty elsewhere"
    ),
    Column("origin", "string", "rated, imported or simulated"),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    drop = (context.options.ties or TIES[0]) == "drop"
    votes = [one for one in judged.answers(questions[0].key) if one[1].choice is not None]
    if len(judged.outputs) != 2 or not votes:
        return
    if len(votes) < context.options.min_votes:
        context.left_out["votes on tasks with fewer votes than asked for"] += len(votes)
        return
    for judgment, answer in votes:
        if drop and answer.choice in UNDECIDED:
            context.left_out["ties"] += 1
            continue
        first, second = (
            judgment.presentation if judgment.presentation and len(judgment.presentation) == 2 else (0, 1)
        )
        a, b = judged.outputs[first], judged.outputs[second]
        yield {
            **shared_cells(judged, questions[0].key),
            "model_a": a.system,
            "model_b": b.system,
            "winner": winner(answer.choice or TIE, swapped=first == 1),
            "judge": judgment.rater,
            "output_a": a.shown,
            "output_b": b.shown,
            "output_a_file_name": a.file_name,
            "output_b_file_name": b.file_name,
            "confidence": answer.confidence,
            "weight": context.vote_weight(judgment, answer),
            "inclusion_probability": judgment.inclusion_probability,
            "origin": judgment.origin,
        }


def winner(choice: int, *, swapped: bool) -> str:
    if choice in UNDECIDED:
        return "both_bad" if choice == BOTH_BAD else "tie"
    return "model_a" if (choice == FIRST) != swapped else "model_b"
