"""CMI-Pref's published columns (arXiv 2603.00610): a row per vote, or one per pair; our importer takes them.

`model_a` is what the rater met first. "Both bad" has no word of its own there and becomes `both`, as in the released
reader of the data, which takes whatever names neither side for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analytics.datasets.formats.arena import winner
from analytics.datasets.formats.contract import (
    BOTH_BAD,
    AnswerRow,
    BuildContext,
    Column,
    JudgedTask,
    JudgmentRow,
    Question,
    Row,
)
from analytics.datasets.formats.pair_votes import UNDECIDED, PairVotes, sum_pair_votes

TIES = ("keep", "drop")
QUESTIONS = ("alignment", "musicality")
SOURCE = "cmi-arena-annotation"  # by this name the released benchmark knows rows of CMI-Pref

COLUMNS = (
    Column("source", "string", f"where the row comes from; `{SOURCE}` where the study does not say"),
    Column("split", "string", "train, dev or test"),
    Column("prompt id", "string", "the item"),
    Column("prompt", "string", "what was asked for"),
    Column("lyrics", "string", "the lyrics asked for"),
    Column("ref-audio-path", "string", "the file of the reference sound; empty where there is none"),
    Column("modality", "string", "text, text+lyrics, text+ref or text+lyrics+ref"),
    Column("model_a", "string", "who made the sound that was met first"),
    Column("model_b", "string", "who made the other"),
    Column("audio-path", "string", "the file of model_a's sound"),
    Column("audio2", "string", "the file of model_b's"),
    Column("preference-alignment", "string", "model_a, model_b or both; empty where not answered"),
    Column("confidence_preference-alignment", "float", "1 to 5"),
    Column("preference-musicality", "string", "model_a, model_b or both; empty where not answered"),
    Column("confidence_preference-musicality", "float", "1 to 5"),
    Column("feedback", "string", "the rater's evidence, in their words"),
    Column("user id", "string", "pseudonym of the rater; empty where nobody was named, and in rows per pair"),
    Column("n_votes", "int", "votes behind the row; more than one only in rows per pair"),
    Column("weight", "float", "what the vote weighs; in rows per pair, all votes together"),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    if len(judged.outputs) != 2 or not all(output.clip for output in judged.outputs):
        return
    by_pair = context.options.rows == "aggregate"
    # A row per vote leaves ties out one by one; one per pair is made of what is left of them.
    ties = "drop" if by_pair and context.options.ties == "drop" else "half"
    sums = {question.key: sum_pair_votes(judged, question.key, context, ties=ties) for question in questions}
    enough = {key: one for key, one in sums.items() if one.n_votes >= context.options.min_votes}
    context.left_out["questions of tasks with fewer votes than asked for"] += sum(
        any(_choices(judged, key)) for key in sums.keys() - enough.keys()
    )
    if not enough:
        return
    if by_pair:
        row = _pair_row(judged, enough, context)
        if row is not None:
            yield row
        return
    for judgment in judged.judgments:
        row = _vote_row(judged, judgment, tuple(enough), context)
        if row is not None:
            yield row


def _vote_row(
    judged: JudgedTask, judgment: JudgmentRow, keys: tuple[str, ...], context: BuildContext
) -> Row | None:
    order = judgment.presentation if judgment.presentation and len(judgment.presentation) == 2 else (0, 1)
    answers = {
        answer.question: answer for answer in judgment.answers if answer.question in keys and answer.choice
    }
    if not answers:
        return None
    preferences: Row = {}
    weights = []
    for key in QUESTIONS:
        answer = answers.get(key)
        undecided = answer is not None and answer.choice in UNDECIDED
        if answer is None or (undecided and context.options.ties == "drop"):
            context.left_out["answers that are ties"] += undecided
            answer = None
        context.noted["answers that both are bad, written as both"] += bool(
            answer and answer.choice == BOTH_BAD
        )
        preferences[f"preference-{key}"] = answer and _choice_name(answer, order)
        preferences[f"confidence_preference-{key}"] = answer and answer.confidence
        if answer is not None:
            weights.append(context.vote_weight(judgment, answer))
    if not weights:
        return None
    evidence = "\n".join(answer.text for answer in judgment.answers if answer.text)
    rater_cells = {"feedback": evidence or None, "user id": judgment.rater or None, "n_votes": 1}
    return {
        **_task_cells(judged, order, context),
        **preferences,
        **rater_cells,
        "weight": sum(weights) / len(weights),
    }


def _pair_row(judged: JudgedTask, sums: Mapping[str, PairVotes], context: BuildContext) -> Row | None:
    preferences: Row = {}
    for key in QUESTIONS:
        choice = _majority(sums.get(key), drop=context.options.ties == "drop")
        preferences[f"preference-{key}"] = choice
        confidence = sums[key].confidence if choice and key in sums else None
        # Halves, as published.
        preferences[f"confidence_preference-{key}"] = (
            None if confidence is None else round(confidence * 2) / 2
        )
    if not any(preferences.values()):
        context.left_out["undecided pairs"] += 1
        return None
    decided_sums = [one for key, one in sums.items() if preferences.get(f"preference-{key}")]
    rater_cells = {"feedback": None, "user id": None, "n_votes": max(one.n_votes for one in decided_sums)}
    weight = max(one.first + one.second for one in decided_sums)
    return {**_task_cells(judged, (0, 1), context), **preferences, **rater_cells, "weight": weight}


def _majority(votes: PairVotes | None, *, drop: bool) -> str | None:
    if votes is None or not votes.n_votes:
        return None
    if not votes.decided:
        return None if drop else "both"
    return "model_a" if votes.first > votes.second else "model_b"


def _task_cells(judged: JudgedTask, order: tuple[int, ...], context: BuildContext) -> Row:
    content = judged.content
    first, second = (judged.outputs[slot] for slot in order)
    parts = ("text", "lyrics" if content.lyrics else "", "ref" if content.reference_clip else "")
    return {
        "source": judged.strata.get("source", SOURCE),
        "split": context.part,
        "prompt id": judged.item,
        "prompt": content.prompt,
        "lyrics": content.lyrics,
        "ref-audio-path": content.reference_clip and content.reference_clip.file_name,
        "modality": "+".join(part for part in parts if part),
        "model_a": first.system,
        "model_b": second.system,
        "audio-path": first.file_name,
        "audio2": second.file_name,
    }


def _choice_name(answer: AnswerRow, order: tuple[int, ...]) -> str:
    word = winner(answer.choice or 0, swapped=order[0] == 1)
    return word if word.startswith("model_") else "both"


def _choices(judged: JudgedTask, key: str) -> Iterator[Any]:
    return (one for one in judged.answers(key) if one[1].choice is not None)
