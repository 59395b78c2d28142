"""ORCA's own layout: answers with every rating that people gave, one by one, and the feedback beside it.

`json` is the first generation (an object of entries by id), `jsonl` the second (an entry per line). An id ends in
`_<group>_<number>`, which names the system; `system`, `item` and `audio` stand beside what ORCA's reader takes, which
passes over them. A rating is null where somebody gave feedback alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analytics.datasets.formats.contract import BuildContext, Column, JudgedTask, JudgmentRow, Question, Row

POINTS = (1.0, 2.0, 3.0, 4.0, 5.0)
_SYSTEM = re.compile(r"[^_]+_[^_]+")

COLUMNS = (
    Column("id", "string", "item and system"),
    Column("question", "string", "what was asked"),
    Column("reference", "string", "the right answer"),
    Column("candidate", "string", "the answer that was rated"),
    Column("rationale", "string", "what is to be heard"),
    Column("transcription", "string", "what is spoken"),
    Column("ratings", "ints", "1 to 5, or null, a place per judgment"),
    Column("feedback", "lists", "a place per judgment: null, or codes and remarks"),
    Column("system", "string", "who answered"),
    Column("item", "string", "the item"),
    Column("audio", "string", "the file of the recording"),
)


def rows(judged: JudgedTask, questions: tuple[Question, ...], context: BuildContext) -> Iterator[Row]:
    key, content = questions[0].key, judged.content
    for slot, output in enumerate(judged.outputs):
        if output.clip and not output.text.strip():
            context.left_out["candidates that are sounds"] += 1
            continue
        # An entry is known by the answer: the judgments of other tasks on it belong in it.
        rated = context.gather(output, [one for one in _places(judged, key, slot) if one is not None])
        if rated is None:
            continue
        ratings = [rating for rating, _ in rated]
        if sum(rating is not None for rating in ratings) < context.options.min_votes:
            context.left_out["fewer ratings than asked for"] += 1
            continue
        yield {
            "id": name(judged, slot, context),
            "question": content.question or content.prompt,
            "reference": content.reference,
            "candidate": output.text,
            "rationale": content.rationale,
            "transcription": content.transcript,
            "ratings": ratings,
            "feedback": [feedback for _, feedback in rated],
            "system": output.system,
            "item": judged.item,
            "audio": content.clip and content.clip.file_name,
        }


def name(judged: JudgedTask, slot: int, context: BuildContext) -> str:
    """The item's name and the system's, where that has the form of ORCA's own; else the system's place by name, and the
    take. Where an item is there in two versions, the later one says which it is."""
    output = judged.outputs[slot]
    item = judged.item
    if context.options.texts == "both" and judged.version > 1:
        item = f"{item}.v{judged.version}"
    if _SYSTEM.fullmatch(output.system) and output.take == 1:
        return f"{item}_{output.system}"
    return f"{item}_S{context.systems.index(output.system)}_{output.take}"


def fault(question: Question) -> str:
    """Why ratings of this question have no place in the layout; empty where they have."""
    if question.points and set(question.points) <= set(POINTS):
        return ""
    return (
        f"ORCA's layout holds ratings of 1, 2, 3, 4 or 5, and {question.key!r} is on another scale. Use mos."
    )


def _places(judged: JudgedTask, key: str, slot: int) -> Iterator[tuple[int | None, list[str] | None] | None]:
    given = {id(judgment): answer.value for judgment, answer in judged.answers(key, slot=slot)}
    # Feedback on a page with several answers is about none of them alone.
    alone = len(judged.outputs) == 1
    for judgment in judged.judgments:
        value, feedback = given.get(id(judgment)), _feedback(judgment) if alone else None
        if value is not None or feedback:
            yield None if value is None else int(value), feedback


def _feedback(judgment: JudgmentRow) -> list[str] | None:
    remarks = [judgment.comment] if judgment.comment else []
    return [*(code.lower() for code in judgment.codes), *remarks] or None
