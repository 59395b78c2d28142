"""The one text that a language model reads of an answer and what lies beside it (ORCA §4.1).

The paper gives the order, question; reference; rationale; transcript; candidate, and no separators beyond the
semicolons of its formula. The published code has another order and names each part. Both are presets; an own wording is
a text with {question}, {reference}, {rationale}, {transcript} and {candidate} where they belong.
"""

from __future__ import annotations

import string
from collections.abc import Callable

from scoring.backbones.encoders.contract import TextFields
from scoring.training.contract import RatedAnswer

PLACES = ("question", "reference", "rationale", "transcript", "candidate")


def template_fault(wording: str) -> str | None:
    """The fault of a preset's name or of a custom template; None where there is none."""
    if wording in _PRESETS:
        return None
    try:
        named = [name for _, name, _, _ in string.Formatter().parse(wording) if name is not None]
    except ValueError as error:
        return f"the wording cannot be read: {error}"
    if "candidate" not in named:
        return (
            f"{wording!r} is neither {' nor '.join(_PRESETS)}, nor a wording with {{candidate}} in it, such as "
            "“{question} | {reference} | {candidate}”"
        )
    if odd := sorted(set(named) - set(PLACES)):
        return f"there is no {{{odd[0]}}}; there are {', '.join(f'{{{place}}}' for place in PLACES)}"
    return None


def render_answer(answer: RatedAnswer, *, wording: str, fields: TextFields) -> str:
    """`wording` is the name of a preset or an own one, in which a field that is not read leaves its place empty."""
    if preset := _PRESETS.get(wording):
        return preset(answer, fields)
    return wording.format(
        question=answer.question if fields.question else "",
        reference=answer.reference,
        rationale=answer.rationale if fields.rationale else "",
        transcript=answer.transcript if fields.transcript else "",
        candidate=answer.candidate,
    )


def _paper_template(answer: RatedAnswer, fields: TextFields) -> str:
    """A field that is read keeps its place where an answer has none: places tell the parts apart."""
    parts = [
        answer.question if fields.question else None,
        answer.reference,
        answer.rationale if fields.rationale else None,
        answer.transcript if fields.transcript else None,
        answer.candidate,
    ]
    return "; ".join(part for part in parts if part is not None)


def _released_code_template(answer: RatedAnswer, fields: TextFields) -> str:
    """To the letter, with the blank at its start that an empty prompt leaves there.

    The code puts a transcript into the context's slot, and so drops it where the rationale is left out; here the slot
    then holds the transcript alone.
    """
    context = answer.rationale if fields.rationale else ""
    heard = fields.transcript and bool(answer.transcript)
    if heard:
        context = f"|transcription: {answer.transcript} {context}"
    text = f" |context: {context}" if fields.rationale or heard else ""
    if fields.question:
        text += f" |question: {answer.question}"
    return f"{text} |correct answer: {answer.reference} |candidate answer: {answer.candidate}"


_PRESETS: dict[str, Callable[[RatedAnswer, TextFields], str]] = {
    "paper": _paper_template,
    "code": _released_code_template,
}
