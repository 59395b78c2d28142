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
)
from analytics.datasets.formats.pair_votes import UNDECIDED

TIES = ("keep", "drop")

COLUMNS = (
    Column("model_a", "string", "the system met first; where the order is unknown, that listed first"),
    Column("model_b", "string", "the other"),
    Column("winner", "string", "model_a, model_b, tie or both_bad"),
    Column("judge", "string", "pseudonym of the rater, empty for one whom nobody named"),
    Column("question", "string", "what was asked of the raters"),
    Column("task", "string", "the task"),
    Column("item", "string", "the item"),
    Column("texts", "string", "original or corrected: which texts the item had"),
    Column("prompt", "string", "what was asked for"),
    Column("lyrics", "string", "the lyrics asked for"),
    Column("asked", "string", "the question that was to be answered"),
    Column("item_file_name", "string", "the item's own sound"),
    Column("reference_file_name", "string", "the sound that the prompt refers to"),
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


def rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    drop = (making.options.ties or TIES[0]) == "drop"
    votes = [one for one in judged.answers(questions[0].key) if one[1].choice is not None]
    if len(judged.outputs) != 2 or not votes:
        return
    if len(votes) < making.options.min_votes:
        making.left_out["votes on tasks with fewer votes than asked for"] += len(votes)
        return
    for said, given in votes:
        if drop and given.choice in UNDECIDED:
            making.left_out["ties"] += 1
            continue
        first, second = said.shown if said.shown and len(said.shown) == 2 else (0, 1)
        a, b = judged.outputs[first], judged.outputs[second]
        yield {
            "model_a": a.system,
            "model_b": b.system,
            "winner": winner(given.choice or TIE, swapped=first == 1),
            "judge": said.rater,
            "question": questions[0].key,
            "task": judged.task,
            "item": judged.item,
            "texts": "corrected" if judged.corrected else "original",
            "prompt": judged.content.prompt,
            "lyrics": judged.content.lyrics,
            "asked": judged.content.question,
            "item_file_name": judged.content.clip and judged.content.clip.file_name,
            "reference_file_name": judged.content.reference_clip and judged.content.reference_clip.file_name,
            "output_a": a.shown,
            "output_b": b.shown,
            "output_a_file_name": a.clip and a.clip.file_name,
            "output_b_file_name": b.clip and b.clip.file_name,
            "confidence": given.confidence,
            "weight": making.vote_weight(said, given),
            "inclusion_probability": said.inclusion,
            "origin": said.origin,
        }


def winner(choice: int, *, swapped: bool) -> str:
    if choice in UNDECIDED:
        return "both_bad" if choice == BOTH_BAD else "tie"
    return "model_a" if (choice == FIRST) != swapped else "model_b"
