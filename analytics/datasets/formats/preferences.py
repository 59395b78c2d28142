"""Training formats of preferences: pairs for TRL, soft labels, arena votes, and CMI-Pref's columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from analytics.datasets.formats.contract import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIE,
    AnswerRow,
    BuildContext,
    Column,
    JudgedTask,
    JudgmentRow,
    Output,
    Question,
    Row,
    prompt_text,
    shared_cells,
    shared_columns,
)

# The votes on one pair, summed up: shares, margins, confidence.

UNDECIDED = (TIE, BOTH_BAD)


@dataclass(frozen=True)
class PairVotes:
    """n_*: votes, unweighted. `first` and `second`: the weights of the votes for each side, with ties shared by the
    tie policy. p: the share of the first, smoothed; `counted` has the votes behind it."""

    n_first: int
    n_second: int
    n_tie: int
    n_both_bad: int
    first: float
    second: float
    p: float
    counted: tuple[tuple[JudgmentRow, AnswerRow, float], ...]

    @property
    def n_votes(self) -> int:
        return len(self.counted)

    @property
    def decided(self) -> bool:
        return not math.isclose(self.first, self.second, rel_tol=1e-12, abs_tol=1e-12)

    @property
    def preferred(self) -> int:
        """The slot with more weight; the second where there is as much for either."""
        return 0 if self.first > self.second else 1

    def share(self, slot: int) -> float:
        return self.p if slot == 0 else 1 - self.p

    @property
    def confidence(self) -> float | None:
        """The mean of those that were stated."""
        stated = [answer.confidence for _, answer, _ in self.counted if answer.confidence is not None]
        return math.fsum(stated) / len(stated) if stated else None


def sum_pair_votes(judged: JudgedTask, question: str, context: BuildContext, *, ties: str) -> PairVotes:
    """p = (first + s) / (first + second + 2 s), with s the smoothing: the mean of a beta distribution that was
    Beta(s, s) before the votes. Jeffreys' s = 0.5 keeps one vote of one from being certainty."""
    answers = [
        (judgment, answer) for judgment, answer in judged.answers(question) if answer.choice is not None
    ]
    counted = [
        (judgment, answer, context.vote_weight(judgment, answer))
        for judgment, answer in answers
        if ties != "drop" or answer.choice not in UNDECIDED
    ]
    half = math.fsum(weight for _, answer, weight in counted if answer.choice in UNDECIDED) / 2
    first, second = (
        half + math.fsum(weight for _, answer, weight in counted if answer.choice == side)
        for side in (FIRST, SECOND)
    )
    smoothing = context.options.smoothing
    n = {
        choice: sum(answer.choice == choice for _, answer in answers)
        for choice in (FIRST, SECOND, TIE, BOTH_BAD)
    }
    return PairVotes(
        n_first=n[FIRST],
        n_second=n[SECOND],
        n_tie=n[TIE],
        n_both_bad=n[BOTH_BAD],
        first=first,
        second=second,
        p=(first + smoothing) / (first + second + 2 * smoothing),
        counted=tuple(counted),
    )


def margin(p: float, kind: str) -> float:
    """Of the side whose smoothed share is p."""
    return 2 * p - 1 if kind == "votes" else math.log(p / (1 - p))


def _side_cells(name: str, output: Output) -> Row:
    return {name: output.shown, f"{name}_system": output.system, f"{name}_file_name": output.file_name}


def _shown_order(judgment: JudgmentRow) -> tuple[int, ...]:
    """The slots of a pair in the order in which the rater met them; as the task lists them where that is unknown."""
    order = judgment.presentation
    return order if order and len(order) == 2 else (0, 1)


def _winner(choice: int, order: tuple[int, ...]) -> str:
    """`model_a` is the side that the rater met first."""
    if choice in UNDECIDED:
        return "both_bad" if choice == BOTH_BAD else "tie"
    return "model_a" if (choice == FIRST) == (order[0] == 0) else "model_b"


def _voted_pair(judged: JudgedTask, question: str, context: BuildContext, *, ties: str) -> PairVotes | None:
    """None where there is no pair or no vote on it, or (counted) where there are fewer votes than asked for."""
    if len(judged.outputs) != 2 or not any(answer.choice for _, answer in judged.answers(question)):
        return None
    votes = sum_pair_votes(judged, question, context, ties=ties)
    if votes.n_votes < context.options.min_votes:
        context.left_out["fewer votes than asked for"] += 1
        return None
    return votes


# TRL: `chosen` and `rejected` (reward models, DPO), or each alone with a label (KTO). TRL has no ties: what is
# undecided is left out and counted. Its collators take no audio: where candidates are sounds, the fields of text hold
# the names of their files. The `prompt` ends in an empty line, for a reward model reads prompt and answer as one text.

_TRL_PROMPT = Column("prompt", "string", "what was asked for, ending in an empty line")
_TRL_TASK = (
    Column(
        "id", "string", "the task; with two rows of one task, the task and the side that is chosen or judged"
    ),
    *shared_columns("item", "question", "texts"),
    Column("n_votes", "int", "votes behind the row"),
    Column("confidence", "float", "mean confidence of those who told theirs"),
    Column(
        "inclusion_probability", "float", "mean chance the task had where a policy drew it; empty elsewhere"
    ),
)
_TRL_ITEM = (
    Column("item_prompt", "string", "the item's prompt as it is", "prompt"),
    Column("item_question", "string", "the item's question as it is", "question"),
    *shared_columns("lyrics", "item_file_name", "reference_file_name"),
)
PAIRED_COLUMNS = (
    _TRL_PROMPT,
    Column("chosen", "string", "the preferred answer, or the file of the preferred sound"),
    Column("rejected", "string", "the other one"),
    Column("margin", "float", "how far the chosen one is ahead; RewardTrainer subtracts it inside its loss"),
    *_TRL_TASK,
    Column("p_chosen", "float", "smoothed share of the votes for the chosen one"),
    Column("chosen_system", "string", "who made it", "system"),
    Column("rejected_system", "string", "who made the other one", "system"),
    Column("chosen_file_name", "string", "the file of the chosen sound; empty for words", "clip"),
    Column("rejected_file_name", "string", "the file of the other sound; empty for words", "clip"),
    *_TRL_ITEM,
)
UNPAIRED_COLUMNS = (
    _TRL_PROMPT,
    Column("completion", "string", "an answer, or the file of a sound"),
    Column("label", "bool", "whether it was the preferred one of its pair"),
    *_TRL_TASK,
    Column("p_completion", "float", "smoothed share of the votes for it"),
    Column("system", "string", "who made it", "system"),
    Column("other_system", "string", "who made what it was compared with", "system"),
    Column("completion_file_name", "string", "the file of the sound; empty for words", "clip"),
    *_TRL_ITEM,
)


def paired_rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    key, ties = questions[0].key, context.options.ties
    votes = _trl_votes(judged, key, context, keep_undecided=ties == "both-directions")
    if votes is None:
        return
    for side in (votes.preferred,) if votes.decided else (0, 1):
        p = votes.share(side)
        yield {
            **_trl_cells(judged, key, votes),
            "id": judged.task if votes.decided else f"{judged.task}#{side}",
            **_side_cells("chosen", judged.outputs[side]),
            **_side_cells("rejected", judged.outputs[1 - side]),
            "margin": margin(p, context.options.margin) if votes.decided else 0.0,
            "p_chosen": p,
        }


def unpaired_rows(
    judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext
) -> Iterator[Row]:
    votes = _trl_votes(judged, questions[0].key, context)
    if votes is None:
        return
    for side in (votes.preferred, 1 - votes.preferred):
        yield {
            **_trl_cells(judged, questions[0].key, votes),
            "id": f"{judged.task}#{side}",
            **_side_cells("completion", judged.outputs[side]),
            "label": side == votes.preferred,
            "p_completion": votes.share(side),
            "system": judged.outputs[side].system,
            "other_system": judged.outputs[1 - side].system,
        }


def _trl_votes(
    judged: JudgedTask, question: str, context: BuildContext, *, keep_undecided: bool = False
) -> PairVotes | None:
    votes = _voted_pair(judged, question, context, ties=context.options.ties)
    if votes is None:
        return None
    if not votes.decided and not keep_undecided:
        context.left_out["undecided: as many votes for one side as for the other"] += 1
        return None
    if judged.outputs[0].shown == judged.outputs[1].shown:
        context.left_out["both sides are the same"] += 1
        return None
    return votes


def _trl_cells(judged: JudgedTask, question: str, votes: PairVotes) -> Row:
    chances = [judgment.inclusion_probability for judgment, _, _ in votes.counted]
    known = [chance for chance in chances if chance is not None]
    return {
        **shared_cells(judged, question),
        "prompt": prompt_text(judged.content),
        "item_prompt": judged.content.prompt,
        "item_question": judged.content.question,
        "n_votes": votes.n_votes,
        "confidence": votes.confidence,
        "inclusion_probability": sum(known) / len(known) if known else None,
    }


# Soft labels: P(A > B) with all behind it: votes of each kind, who gave them and what they weigh, scores of models.

_CHOICE_NAMES = {FIRST: "a", SECOND: "b", TIE: "tie", BOTH_BAD: "both_bad"}

SOFT_PREFERENCE_COLUMNS = (
    Column("id", "string", "the task"),
    *shared_columns("item", "question", "texts", "prompt", "lyrics", "asked"),
    Column("a", "string", "the first answer, or the file of the first sound"),
    Column("b", "string", "the second"),
    Column("a_system", "string", "who made the first", "system"),
    Column("b_system", "string", "who made the second", "system"),
    Column("a_file_name", "string", "the file of the first sound; empty for words", "clip"),
    Column("b_file_name", "string", "the file of the second sound; empty for words", "clip"),
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


def soft_preference_rows(
    judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext
) -> Iterator[Row]:
    votes = _voted_pair(judged, questions[0].key, context, ties=context.options.ties)
    if votes is None:
        return
    yield {
        "id": judged.task,
        **shared_cells(judged, questions[0].key),
        **_side_cells("a", judged.outputs[0]),
        **_side_cells("b", judged.outputs[1]),
        "p_a": votes.p,
        "margin": margin(votes.p, context.options.margin),
        "n_votes": votes.n_votes,
        "n_a": votes.n_first,
        "n_b": votes.n_second,
        "n_tie": votes.n_tie,
        "n_both_bad": votes.n_both_bad,
        "confidence": votes.confidence,
        "raters": [judgment.rater for judgment, _, _ in votes.counted],
        "choices": [_CHOICE_NAMES[answer.choice or TIE] for _, answer, _ in votes.counted],
        "weights": [weight for _, _, weight in votes.counted],
        "confidences": [answer.confidence for _, answer, _ in votes.counted],
        "origins": [judgment.origin for judgment, _, _ in votes.counted],
        "shown_first": [
            "ab"[judgment.presentation[0]] if judgment.presentation else ""
            for judgment, _, _ in votes.counted
        ],
        "inclusion_probabilities": [judgment.inclusion_probability for judgment, _, _ in votes.counted],
        "scores": _pair_scores(judged),
    }


def _pair_scores(judged: JudgedTask) -> list[Row]:
    """A row per scorer and output of it, with its values of each side, and of the pair in either order."""
    rows: dict[tuple[str, str], Row] = {}
    for score in judged.scores:
        empty = {"scorer": score.scorer, "output": score.output} | dict.fromkeys(("a", "b", "a_b", "b_a"))
        row = rows.setdefault((score.scorer, score.output), empty)
        name = "ab"[score.slot]
        row[name if score.other is None else f"{name}_{'ab'[score.other]}"] = score.value
    return [rows[key] for key in sorted(rows)]


# Arena style: a row per vote, `model_a`, `model_b`, `winner`, as ranking tools read it. A is what was met first.

ARENA_COLUMNS = (
    Column(
        "model_a", "string", "the system met first; where the order is unknown, that listed first", "system"
    ),
    Column("model_b", "string", "the other", "system"),
    Column("winner", "string", "model_a, model_b, tie or both_bad"),
    Column("judge", "string", "pseudonym of the rater, empty for one whom nobody named"),
    *shared_columns("question", "task", "item", "texts", "prompt", "lyrics", "asked"),
    *shared_columns("item_file_name", "reference_file_name"),
    Column("output_a", "string", "the answer of model_a, or its file"),
    Column("output_b", "string", "the answer of model_b, or its file"),
    Column("output_a_file_name", "string", "the file of model_a's sound; empty for words", "clip"),
    Column("output_b_file_name", "string", "the file of model_b's sound; empty for words", "clip"),
    Column("confidence", "float", "of the vote; empty where none was told"),
    Column("weight", "float", "what the vote weighs"),
    Column(
        "inclusion_probability", "float", "the chance the task had where a policy drew it; empty elsewhere"
    ),
    Column("origin", "string", "rated, imported or simulated"),
)


def arena_rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    key = questions[0].key
    votes = [vote for vote in judged.answers(key) if vote[1].choice is not None]
    if len(judged.outputs) != 2 or not votes:
        return
    if len(votes) < context.options.min_votes:
        context.left_out["votes on tasks with fewer votes than asked for"] += len(votes)
        return
    for judgment, answer in votes:
        if context.options.ties == "drop" and answer.choice in UNDECIDED:
            context.left_out["ties"] += 1
            continue
        order = _shown_order(judgment)
        a, b = (judged.outputs[slot] for slot in order)
        yield {
            **shared_cells(judged, key),
            "model_a": a.system,
            "model_b": b.system,
            "winner": _winner(answer.choice or TIE, order),
            "judge": judgment.rater,
            **_side_cells("output_a", a),
            **_side_cells("output_b", b),
            "confidence": answer.confidence,
            "weight": context.vote_weight(judgment, answer),
            "inclusion_probability": judgment.inclusion_probability,
            "origin": judgment.origin,
        }


# CMI-Pref's published columns (arXiv 2603.00610): a row per vote, or one per pair; our importer takes them. `model_a`
# is what the rater met first. "Both bad" has no word of its own there and becomes `both`, as in the released reader of
# the data, which takes whatever names neither side for both.

_CMI_QUESTIONS = ("alignment", "musicality")
_CMI_SOURCE = "cmi-arena-annotation"  # by this name the released benchmark knows rows of CMI-Pref

CMI_PREF_COLUMNS = (
    Column("source", "string", f"where the row comes from; `{_CMI_SOURCE}` where the study does not say"),
    Column("split", "string", "train, dev or test"),
    Column("prompt id", "string", "the item", "item"),
    *shared_columns("prompt", "lyrics"),
    Column("ref-audio-path", "string", "the file of the reference sound; empty where there is none", "clip"),
    Column("modality", "string", "text, text+lyrics, text+ref or text+lyrics+ref"),
    Column("model_a", "string", "who made the sound that was met first", "system"),
    Column("model_b", "string", "who made the other", "system"),
    Column("audio-path", "string", "the file of model_a's sound", "clip"),
    Column("audio2", "string", "the file of model_b's", "clip"),
    Column("preference-alignment", "string", "model_a, model_b or both; empty where not answered"),
    Column("confidence_preference-alignment", "float", "1 to 5"),
    Column("preference-musicality", "string", "model_a, model_b or both; empty where not answered"),
    Column("confidence_preference-musicality", "float", "1 to 5"),
    Column("feedback", "string", "the rater's evidence, in their words"),
    Column("user id", "string", "pseudonym of the rater; empty where nobody was named, and in rows per pair"),
    Column("n_votes", "int", "votes behind the row; more than one only in rows per pair"),
    Column("weight", "float", "what the vote weighs; in rows per pair, all votes together"),
)


def cmi_pref_rows(
    judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext
) -> Iterator[Row]:
    if len(judged.outputs) != 2 or not all(output.clip for output in judged.outputs):
        return
    is_by_pair = context.options.rows == "aggregate"
    # A row per vote leaves ties out one by one; one per pair is made of what is left of them.
    ties = context.options.ties if is_by_pair else "half"
    sums = {question.key: sum_pair_votes(judged, question.key, context, ties=ties) for question in questions}
    enough = {key: votes for key, votes in sums.items() if votes.n_votes >= context.options.min_votes}
    context.left_out["questions of tasks with fewer votes than asked for"] += sum(
        any(answer.choice for _, answer in judged.answers(key)) for key in sums.keys() - enough.keys()
    )
    if enough and is_by_pair:
        yield from _cmi_pair_row(judged, enough, context)
    elif enough:
        for judgment in judged.judgments:
            yield from _cmi_vote_row(judged, judgment, tuple(enough), context)


def cmi_pref_refusal(question: Question) -> str:
    """Why votes on this question have no place in the format; empty where they have."""
    if question.key in _CMI_QUESTIONS:
        return ""
    return (
        f"CMI-Pref has columns for {' and '.join(_CMI_QUESTIONS)}, not for {question.key!r}. "
        "Use soft-preferences or arena."
    )


def _cmi_vote_row(
    judged: JudgedTask, judgment: JudgmentRow, keys: tuple[str, ...], context: BuildContext
) -> Iterator[Row]:
    order = _shown_order(judgment)
    answers = {
        answer.question: answer for answer in judgment.answers if answer.question in keys and answer.choice
    }
    preferences: Row = {}
    weights = []
    for key in _CMI_QUESTIONS:
        answer = answers.get(key)
        if answer and context.options.ties == "drop" and answer.choice in UNDECIDED:
            context.left_out["answers that are ties"] += 1
            answer = None
        preferences[f"preference-{key}"] = answer and _cmi_choice(answer, order)
        preferences[f"confidence_preference-{key}"] = answer and answer.confidence
        if answer is not None:
            context.noted["answers that both are bad, written as both"] += answer.choice == BOTH_BAD
            weights.append(context.vote_weight(judgment, answer))
    if not weights:
        return
    yield {
        **_cmi_task_cells(judged, order, context),
        **preferences,
        "feedback": "\n".join(answer.text for answer in judgment.answers if answer.text) or None,
        "user id": judgment.rater or None,
        "n_votes": 1,
        "weight": sum(weights) / len(weights),
    }


def _cmi_pair_row(judged: JudgedTask, sums: Mapping[str, PairVotes], context: BuildContext) -> Iterator[Row]:
    preferences: Row = {}
    decisive = []
    for key in _CMI_QUESTIONS:
        choice = _cmi_majority(sums.get(key), drop=context.options.ties == "drop")
        confidence = sums[key].confidence if choice else None
        preferences[f"preference-{key}"] = choice
        # Halves, as published.
        preferences[f"confidence_preference-{key}"] = (
            None if confidence is None else round(confidence * 2) / 2
        )
        if choice:
            decisive.append(sums[key])
    if not decisive:
        context.left_out["undecided pairs"] += 1
        return
    yield {
        **_cmi_task_cells(judged, (0, 1), context),
        **preferences,
        "feedback": None,
        "user id": None,
        "n_votes": max(votes.n_votes for votes in decisive),
        "weight": max(votes.first + votes.second for votes in decisive),
    }


def _cmi_majority(votes: PairVotes | None, *, drop: bool) -> str | None:
    if votes is None or not votes.n_votes:
        return None
    if not votes.decided:
        return None if drop else "both"
    return "model_b" if votes.preferred else "model_a"


def _cmi_task_cells(judged: JudgedTask, order: tuple[int, ...], context: BuildContext) -> Row:
    content = judged.content
    first, second = (judged.outputs[slot] for slot in order)
    parts = ("text", "lyrics" if content.lyrics else "", "ref" if content.reference_clip else "")
    return {
        "source": judged.strata.get("source", _CMI_SOURCE),
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


def _cmi_choice(answer: AnswerRow, order: tuple[int, ...]) -> str:
    return "both" if answer.choice in UNDECIDED else _winner(answer.choice or TIE, order)
