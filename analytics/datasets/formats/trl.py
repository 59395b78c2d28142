"""Pairs for TRL: `chosen` and `rejected` (reward models, DPO), or each alone with a label (KTO).

TRL has no ties: what is undecided is left out and counted. Its collators take no audio: where candidates are sounds,
the fields of text hold the names of their files. The `prompt` ends in an empty line, for a reward model reads prompt
and answer as one text.
"""

from __future__ import annotations

from collections.abc import Iterator

from analytics.datasets.formats.contract import (
    BuildContext,
    Column,
    JudgedTask,
    Question,
    Row,
    prompt_text,
    shared_cells,
    shared_columns,
)
from analytics.datasets.formats.pair_votes import PairVotes, margin, sum_pair_votes

TIES = ("half", "drop", "both-directions")
UNPAIRED_TIES = ("half", "drop")

_PLACE = (
    Column(
        "id", "string", "the task; with two rows of one task, the task and the side that is chosen or judged"
    ),
    *shared_columns("item", "question", "texts"),
)
_WORDS = (
    Column("item_prompt", "string", "the item's prompt as it is"),
    Column("item_question", "string", "the item's question as it is"),
    *shared_columns("lyrics", "item_file_name", "reference_file_name"),
)
_SUMMED = (
    Column("n_votes", "int", "votes behind the row"),
    Column("confidence", "float", "mean confidence of those who told theirs"),
    Column(
        "inclusion_probability", "float", "mean chance the task had where a policy drew it; empty elsewhere"
    ),
)

PAIRED = (
    Column("prompt", "string", "what was asked for, ending in an empty line"),
    Column("chosen", "string", "the preferred answer, or the file of the preferred sound"),
    Column("rejected", "string", "the other one"),
    Column("margin", "float", "how far the chosen one is ahead; RewardTrainer subtracts it inside its loss"),
    *_PLACE,
    *_SUMMED,
    Column("p_chosen", "float", "smoothed share of the votes for the chosen one"),
    Column("chosen_system", "string", "who made it"),
    Column("rejected_system", "string", "who made the other one"),
    Column("chosen_file_name", "string", "the file of the chosen sound; empty for words"),
    Column("rejected_file_name", "string", "the file of the other sound; empty for words"),
    *_WORDS,
)

UNPAIRED = (
    Column("prompt", "string", "what was asked for, ending in an empty line"),
    Column("completion", "string", "an answer, or the file of a sound"),
    Column("label", "bool", "whether it was the preferred one of its pair"),
    *_PLACE,
    *_SUMMED,
    Column("p_completion", "float", "smoothed share of the votes for it"),
    Column("system", "string", "who made it"),
    Column("other_system", "string", "who made what it was compared with"),
    Column("completion_file_name", "string", "the file of the sound; empty for words"),
    *_WORDS,
)


def paired_rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    ties = context.options.ties or TIES[0]
    votes = _decided(judged, questions[0], context, ties=ties, keep_undecided=ties == "both-directions")
    if votes is None:
        return
    if not votes.decided:
        for side in (0, 1):
            yield _pair(judged, questions[0], votes, side, context, id=f"{judged.task}#{side}")
        return
    yield _pair(judged, questions[0], votes, 0 if votes.first > votes.second else 1, context, id=judged.task)


def unpaired_rows(
    judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext
) -> Iterator[Row]:
    votes = _decided(judged, questions[0], context, ties=context.options.ties or UNPAIRED_TIES[0])
    if votes is None:
        return
    chosen = 0 if votes.first > votes.second else 1
    for side in (chosen, 1 - chosen):
        output = judged.outputs[side]
        yield {
            **_task_cells(judged, questions[0], id=f"{judged.task}#{side}"),
            **_vote_cells(votes),
            "completion": output.shown,
            "label": side == chosen,
            "p_completion": _share(votes, side),
            "system": output.system,
            "other_system": judged.outputs[1 - side].system,
            "completion_file_name": output.file_name,
        }


def _decided(
    judged: JudgedTask, question: Question, context: BuildContext, *, ties: str, keep_undecided: bool = False
) -> PairVotes | None:
    if len(judged.outputs) != 2:
        return None
    votes = sum_pair_votes(judged, question.key, context, ties="drop" if ties == "drop" else "half")
    if not votes.n_first + votes.n_second + votes.n_tie + votes.n_both_bad:
        return None
    if votes.n_votes < context.options.min_votes:
        context.left_out["fewer votes than asked for"] += 1
        return None
    if not votes.decided and not keep_undecided:
        context.left_out["undecided: as many votes for one side as for the other"] += 1
        return None
    if judged.outputs[0].shown == judged.outputs[1].shown:
        context.left_out["both sides are the same"] += 1
        return None
    return votes


def _pair(
    judged: JudgedTask, question: Question, votes: PairVotes, side: int, context: BuildContext, *, id: str
) -> Row:
    chosen, rejected = judged.outputs[side], judged.outputs[1 - side]
    p = _share(votes, side)
    return {
        **_task_cells(judged, question, id=id),
        **_vote_cells(votes),
        "chosen": chosen.shown,
        "rejected": rejected.shown,
        "margin": margin(p, context.options.margin) if votes.decided else 0.0,
        "p_chosen": p,
        "chosen_system": chosen.system,
        "rejected_system": rejected.system,
        "chosen_file_name": chosen.file_name,
        "rejected_file_name": rejected.file_name,
    }


def _task_cells(judged: JudgedTask, question: Question, *, id: str) -> Row:
    content = judged.content
    return {
        **shared_cells(judged, question.key),
        "id": id,
        "prompt": prompt_text(content),
        "item_prompt": content.prompt,
        "item_question": content.question,
    }


def _vote_cells(votes: PairVotes) -> Row:
    judgments = [judgment for judgment, _, _ in votes.counted]
    known = [one.inclusion_probability for one in judgments if one.inclusion_probability is not None]
    return {
        "n_votes": votes.n_votes,
        "confidence": votes.confidence,
        "inclusion_probability": sum(known) / len(known) if known else None,
    }


def _share(votes: PairVotes, side: int) -> float:
    return votes.p if side == 0 else 1 - votes.p
