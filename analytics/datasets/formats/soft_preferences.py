"""P(A > B) with everything behind it: votes of each kind, who gave them and what they weigh, scores of models."""

from __future__ import annotations

from collections.abc import Iterator

from analytics.datasets.formats.contract import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    BuildContext,
    Column,
    JudgedTask,
    Question,
    Row,
    shared_cells,
    shared_columns,
)
from analytics.datasets.formats.pair_votes import margin, sum_pair_votes

TIES = ("half", "drop")
CHOICES = {FIRST: "a", SECOND: "b", TIE: "tie", BOTH_BAD: "both_bad"}

COLUMNS = (
    Column("id", "string", "the task"),
    *shared_columns("item", "question", "texts", "prompt", "lyrics", "asked"),
    Column("a", "string", "the first answer, or the file of the first sound"),
    Column("b", "string", "the second"),
    Column("a_system", "string", "who made the first"),
    Column("b_system", "string", "who made the second"),
    Column("a_file_name", "string", "the file of the first sound; empty for words"),
    Column("b_file_name", "string", "the file of the second sound; empty for words"),
    *shared_columns("item_file_name", "reference_file_name"),
    Column("p_a", "float", "P(A > B): the weighted share of votes for the first, smoothed"),
    Column("margin", "float", "of the first over the second: below zero where the second is ahead"),
    Column("n_votes", "int", "votes behind the row"),
    Column("n_a", "int", "votes for the first"),
    Column("n_b", "int", "votes for the second"),
    Column("n_tie", "int", "ties"),
    Column("n_both_bad", "int", "votes that both are bad"),
    Column("confidence", "float", "mean confidence of those who told theirs"),
    Column("raters", "strings", "pseudonym of each vote's rater, empty for one whom nobody named"),
    Column("choices", "strings", "each vote: a, b, tie or both_bad"),
    Column("weights", "floats", "what each vote weighs"),
    Column("confidences", "floats", "the confidence of each vote, empty where none was told"),
    Column("origins", "strings", "rated, imported or simulated"),
    Column("shown_first", "strings", "which side the rater met first, a or b; empty where unknown"),
    Column(
        "inclusion_probabilities",
        "floats",
        "the chance the task had when a policy drew it for each vote; empty elsewhere",
    ),
    Column(
        "scores", "scores", "what models gave: of each side (a, b), or of the pair as they met it (a_b, b_a)"
    ),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    question = questions[0]
    if len(judged.outputs) != 2 or not any(answer.choice for _, answer in judged.answers(question.key)):
        return
    votes = sum_pair_votes(judged, question.key, context, ties=context.options.ties or TIES[0])
    if votes.n_votes < context.options.min_votes:
        context.left_out["fewer votes than asked for"] += 1
        return
    a, b = judged.outputs
    yield {
        "id": judged.task,
        **shared_cells(judged, question.key),
        "a": a.shown,
        "b": b.shown,
        "a_system": a.system,
        "b_system": b.system,
        "a_file_name": a.file_name,
        "b_file_name": b.file_name,
        "p_a": votes.p,
        "margin": margin(votes.p, context.options.margin),
        "n_votes": votes.n_votes,
        "n_a": votes.n_first,
        "n_b": votes.n_second,
        "n_tie": votes.n_tie,
        "n_both_bad": votes.n_both_bad,
        "confidence": votes.confidence,
        "raters": [judgment.rater for judgment, _, _ in votes.counted],
        "choices": [CHOICES[answer.choice or TIE] for _, answer, _ in votes.counted],
        "weights": [weight for _, _, weight in votes.counted],
        "confidences": [answer.confidence for _, answer, _ in votes.counted],
        "origins": [judgment.origin for judgment, _, _ in votes.counted],
        "shown_first": [
            "" if not judgment.presentation else "ab"[judgment.presentation[0]]
            for judgment, _, _ in votes.counted
        ],
        "inclusion_probabilities": [judgment.inclusion_probability for judgment, _, _ in votes.counted],
        "scores": _scores(judged),
    }


def _scores(judged: JudgedTask) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for score in judged.scores:
        empty = {"scorer": score.scorer, "output": score.output} | dict.fromkeys(("a", "b", "a_b", "b_a"))
        row = found.setdefault((score.scorer, score.output), empty)
        name = "ab"[score.slot]
        row[name if score.other is None else f"{name}_{'ab'[score.other]}"] = score.value
    return [found[key] for key in sorted(found)]
