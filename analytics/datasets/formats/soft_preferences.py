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
)
from analytics.datasets.formats.pair_votes import margin, sum_pair_votes

TIES = ("half", "drop")
CHOICES = {FIRST: "a", SECOND: "b", TIE: "tie", BOTH_BAD: "both_bad"}

COLUMNS = (
    Column("id", "string", "the task"),
    Column("item", "string", "the item"),
    Column("question", "string", "what was asked of the raters"),
    Column("texts", "string", "original or corrected: which texts the item had"),
    Column("prompt", "string", "what was asked for"),
    Column("lyrics", "string", "the lyrics asked for"),
    Column("asked", "string", "the question that was to be answered"),
    Column("a", "string", "the first answer, or the file of the first sound"),
    Column("b", "string", "the second"),
    Column("a_system", "string", "who made the first"),
    Column("b_system", "string", "who made the second"),
    Column("a_file_name", "string", "the file of the first sound; empty for words"),
    Column("b_file_name", "string", "the file of the second sound; empty for words"),
    Column("item_file_name", "string", "the item's own sound"),
    Column("reference_file_name", "string", "the sound that the prompt refers to"),
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


def rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    question = questions[0]
    if len(judged.outputs) != 2 or not any(g.choice for _, g in judged.answers(question.key)):
        return
    found = sum_pair_votes(judged, question.key, making, ties=making.options.ties or TIES[0])
    if found.n_votes < making.options.min_votes:
        making.left_out["fewer votes than asked for"] += 1
        return
    a, b = judged.outputs
    content = judged.content
    yield {
        "id": judged.task,
        "item": judged.item,
        "question": question.key,
        "texts": "corrected" if judged.corrected else "original",
        "prompt": content.prompt,
        "lyrics": content.lyrics,
        "asked": content.question,
        "a": a.shown,
        "b": b.shown,
        "a_system": a.system,
        "b_system": b.system,
        "a_file_name": a.clip and a.clip.file_name,
        "b_file_name": b.clip and b.clip.file_name,
        "item_file_name": content.clip and content.clip.file_name,
        "reference_file_name": content.reference_clip and content.reference_clip.file_name,
        "p_a": found.p,
        "margin": margin(found.p, making.options.margin),
        "n_votes": found.n_votes,
        "n_a": found.n_first,
        "n_b": found.n_second,
        "n_tie": found.n_tie,
        "n_both_bad": found.n_both_bad,
        "confidence": found.confidence,
        "raters": [said.rater for said, _, _ in found.counted],
        "choices": [CHOICES[given.choice or TIE] for _, given, _ in found.counted],
        "weights": [weight for _, _, weight in found.counted],
        "confidences": [given.confidence for _, given, _ in found.counted],
        "origins": [said.origin for said, _, _ in found.counted],
        "shown_first": ["" if not said.shown else "ab"[said.shown[0]] for said, _, _ in found.counted],
        "inclusion_probabilities": [said.inclusion for said, _, _ in found.counted],
        "scores": _scores(judged),
    }


def _scores(judged: JudgedTask) -> list[Row]:
    found: dict[tuple[str, str], Row] = {}
    for score in judged.scores:
        empty = {
            "scorer": score.scorer,
            "output": score.output,
            "a": None,
            "b": None,
            "a_b": None,
            "b_a": None,
        }
        row = found.setdefault((score.scorer, score.output), empty)
        name = "ab"[score.slot]
        row[name if score.other is None else f"{name}_{'ab'[score.other]}"] = score.value
    return [found[key] for key in sorted(found)]
