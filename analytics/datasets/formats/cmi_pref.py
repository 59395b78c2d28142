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


def rows(judged: JudgedTask, questions: tuple[Question, ...], making: BuildContext) -> Iterator[Row]:
    if len(judged.outputs) != 2 or not all(output.clip for output in judged.outputs):
        return
    by_pair = making.options.rows == "aggregate"
    # A row per vote leaves ties out one by one; one per pair is made of what is left of them.
    ties = "drop" if by_pair and making.options.ties == "drop" else "half"
    sums = {question.key: sum_pair_votes(judged, question.key, making, ties=ties) for question in questions}
    enough = {key: one for key, one in sums.items() if one.n_votes >= making.options.min_votes}
    making.left_out["questions of tasks with fewer votes than asked for"] += sum(
        any(_choices(judged, key)) for key in sums.keys() - enough.keys()
    )
    if not enough:
        return
    if by_pair:
        row = _of_pair(judged, enough, making)
        if row is not None:
            yield row
        return
    for said in judged.said:
        row = _of_vote(judged, said, tuple(enough), making)
        if row is not None:
            yield row


def _of_vote(
    judged: JudgedTask, said: JudgmentRow, keys: tuple[str, ...], making: BuildContext
) -> Row | None:
    order = said.shown if said.shown and len(said.shown) == 2 else (0, 1)
    answers = {given.question: given for given in said.given if given.question in keys and given.choice}
    if not answers:
        return None
    preferences: Row = {}
    weights = []
    for key in QUESTIONS:
        given = answers.get(key)
        undecided = given is not None and given.choice in UNDECIDED
        if given is None or (undecided and making.options.ties == "drop"):
            making.left_out["answers that are ties"] += undecided
            given = None
        making.noted["answers that both are bad, written as both"] += bool(given and given.choice == BOTH_BAD)
        preferences[f"preference-{key}"] = given and _named(given, order)
        preferences[f"confidence_preference-{key}"] = given and given.confidence
        if given is not None:
            weights.append(making.vote_weight(said, given))
    if not weights:
        return None
    evidence = "\n".join(given.text for given in said.given if given.text)
    about = {"feedback": evidence or None, "user id": said.rater or None, "n_votes": 1}
    return {**_about(judged, order, making), **preferences, **about, "weight": sum(weights) / len(weights)}


def _of_pair(judged: JudgedTask, sums: Mapping[str, PairVotes], making: BuildContext) -> Row | None:
    preferences: Row = {}
    for key in QUESTIONS:
        told = _majority(sums.get(key), drop=making.options.ties == "drop")
        preferences[f"preference-{key}"] = told
        sure = sums[key].confidence if told and key in sums else None
        # Halves, as published.
        preferences[f"confidence_preference-{key}"] = None if sure is None else round(sure * 2) / 2
    if not any(preferences.values()):
        making.left_out["undecided pairs"] += 1
        return None
    behind = [one for key, one in sums.items() if preferences.get(f"preference-{key}")]
    about = {"feedback": None, "user id": None, "n_votes": max(one.n_votes for one in behind)}
    weight = max(one.first + one.second for one in behind)
    return {**_about(judged, (0, 1), making), **preferences, **about, "weight": weight}


def _majority(found: PairVotes | None, *, drop: bool) -> str | None:
    if found is None or not found.n_votes:
        return None
    if not found.decided:
        return None if drop else "both"
    return "model_a" if found.first > found.second else "model_b"


def _about(judged: JudgedTask, order: tuple[int, ...], making: BuildContext) -> Row:
    content = judged.content
    first, second = (judged.outputs[slot] for slot in order)
    parts = ("text", "lyrics" if content.lyrics else "", "ref" if content.reference_clip else "")
    return {
        "source": judged.strata.get("source", SOURCE),
        "split": making.part,
        "prompt id": judged.item,
        "prompt": content.prompt,
        "lyrics": content.lyrics,
        "ref-audio-path": content.reference_clip and content.reference_clip.file_name,
        "modality": "+".join(part for part in parts if part),
        "model_a": first.system,
        "model_b": second.system,
        "audio-path": first.clip and first.clip.file_name,
        "audio2": second.clip and second.clip.file_name,
    }


def _named(given: AnswerRow, order: tuple[int, ...]) -> str:
    word = winner(given.choice or 0, swapped=order[0] == 1)
    return word if word.startswith("model_") else "both"


def _choices(judged: JudgedTask, key: str) -> Iterator[Any]:
    return (one for one in judged.answers(key) if one[1].choice is not None)
