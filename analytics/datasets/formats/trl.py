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
    Output,
    Question,
    Row,
    prompt_text,
)
from analytics.datasets.formats.pair_votes import PairVotes, margin, sum_pair_votes

TIES = ("half", "drop", "both-directions")
UNPAIRED_TIES = ("half", "drop")

_PLACE = (
    Column(
        "id", "string", "the task; with two rows of one task, the task and the side that is chosen or judged"
    ),
    Column("item", "string", "the item"),
    Column("question", "string", "what was asked of the raters"),
    Column("texts", "string", "original or corrected: which texts the item had"),
)
_WORDS = (
    Column("item_prompt", "string", "the item's prompt as it is"),
    Column("item_question", "string", "the item's question as it is"),
    Column("lyrics", "string", "the lyrics asked for"),
    Column("item_file_name", "string", "the item's own sound"),
    Column("reference_file_name", "string", "the sound that the prompt refers to"),
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


def paired_rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    ties = making.options.ties or TIES[0]
    found = _decided(judged, questions[0], making, ties=ties, keep_undecided=ties == "both-directions")
    if found is None:
        return
    if not found.decided:
        for side in (0, 1):
            yield _pair(judged, questions[0], found, side, making, id=f"{judged.task}#{side}")
        return
    yield _pair(judged, questions[0], found, 0 if found.first > found.second else 1, making, id=judged.task)


def unpaired_rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    found = _decided(judged, questions[0], making, ties=making.options.ties or UNPAIRED_TIES[0])
    if found is None:
        return
    chosen = 0 if found.first > found.second else 1
    for side in (chosen, 1 - chosen):
        output = judged.outputs[side]
        yield {
            "prompt": prompt_text(judged.content),
            "completion": output.shown,
            "label": side == chosen,
            **_place(judged, questions[0], id=f"{judged.task}#{side}"),
            **_of(found),
            "p_completion": _share(found, side),
            "system": output.system,
            "other_system": judged.outputs[1 - side].system,
            "completion_file_name": _file(output),
            **_words(judged),
        }


def _decided(
    judged: JudgedTask, question: Question, making: BuildContext, *, ties: str, keep_undecided: bool = False
) -> PairVotes | None:
    if len(judged.outputs) != 2:
        return None
    found = sum_pair_votes(judged, question.key, making, ties="drop" if ties == "drop" else "half")
    if not found.n_first + found.n_second + found.n_tie + found.n_both_bad:
        return None
    if found.n_votes < making.options.min_votes:
        making.left_out["fewer votes than asked for"] += 1
        return None
    if not found.decided and not keep_undecided:
        making.left_out["undecided: as many votes for one side as for the other"] += 1
        return None
    if judged.outputs[0].shown == judged.outputs[1].shown:
        making.left_out["both sides are the same"] += 1
        return None
    return found


def _pair(
    judged: JudgedTask, question: Question, found: PairVotes, side: int, making: BuildContext, *, id: str
) -> Row:
    chosen, rejected = judged.outputs[side], judged.outputs[1 - side]
    p = _share(found, side)
    return {
        "prompt": prompt_text(judged.content),
        "chosen": chosen.shown,
        "rejected": rejected.shown,
        "margin": margin(p, making.options.margin) if found.decided else 0.0,
        **_place(judged, question, id=id),
        **_of(found),
        "p_chosen": p,
        "chosen_system": chosen.system,
        "rejected_system": rejected.system,
        "chosen_file_name": _file(chosen),
        "rejected_file_name": _file(rejected),
        **_words(judged),
    }


def _place(judged: JudgedTask, question: Question, *, id: str) -> Row:
    texts = "corrected" if judged.corrected else "original"
    return {"id": id, "item": judged.item, "question": question.key, "texts": texts}


def _words(judged: JudgedTask) -> Row:
    content = judged.content
    return {
        "item_prompt": content.prompt,
        "item_question": content.question,
        "lyrics": content.lyrics,
        "item_file_name": content.clip and content.clip.file_name,
        "reference_file_name": content.reference_clip and content.reference_clip.file_name,
    }


def _of(found: PairVotes) -> Row:
    known = [said.inclusion for said, _, _ in found.counted if said.inclusion is not None]
    return {
        "n_votes": found.n_votes,
        "confidence": found.confidence,
        "inclusion_probability": sum(known) / len(known) if known else None,
    }


def _share(found: PairVotes, side: int) -> float:
    return found.p if side == 0 else 1 - found.p


def _file(output: Output) -> str | None:
    return output.clip.file_name if output.clip else None
