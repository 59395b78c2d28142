"""Which kinds of texts can be written and with which settings. Looking at it loads no model code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.metrics.entries import Option
from scoring.metrics.registry import OptionError, checked

_MOST_TOKENS = 8192

_MAX_NEW_TOKENS = Option(
    "max_new_tokens", "number", "How long a text may become, in the model's tokens.", default=512
)
_LISTENS = Option(
    "listens",
    "flag",
    "Play the item's clip to the model. Without it the model goes by the texts alone, for models that have no ears.",
    default=True,
)
_LANGUAGE = Option(
    "language",
    "text",
    "Which language is spoken, as en or english; empty for the one that Whisper hears.",
    default="",
)
_DTYPE = Option(
    "dtype",
    "choice",
    "How numbers are held: auto is bfloat16 on a GPU and float32 on a CPU. Servers decide for themselves.",
    default="auto",
    choices=("auto", "float32", "bfloat16", "float16"),
)


@dataclass(frozen=True)
class Kind:
    """One kind of text, and the settings of what writes it."""

    writes: str
    title: str
    summary: str
    options: tuple[Option, ...] = (_MAX_NEW_TOKENS, _LISTENS, _DTYPE)


KINDS: Mapping[str, Kind] = {
    kind.writes: kind
    for kind in (
        Kind(
            "transcript",
            "Transcript",
            "What is said in the clip: by Whisper, or by an audio language model that is asked for it.",
            (_LANGUAGE, _MAX_NEW_TOKENS, _DTYPE),
        ),
        Kind(
            "rationale",
            "Rationale",
            "Why the reference answer is right, for those who judge without listening.",
        ),
        Kind("question", "Question", "The question written anew so that it can be understood on its own."),
        Kind("reference", "Reference answer", "The right answer, short and complete."),
        Kind("answer", "Candidate answer", "A system's answer to the question, to be judged."),
    )
}


def validated(writes: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a kind of writer, defaults filled in. Raises OptionError."""
    if writes not in KINDS:
        raise OptionError("writes", f"there is no such kind of text; there are {', '.join(KINDS)}")
    found = checked(KINDS[writes].options, given, of=f"a writer of {KINDS[writes].title.lower()}s")
    if not 1 <= found["max_new_tokens"] <= _MOST_TOKENS:
        raise OptionError("max_new_tokens", f"must be from 1 to {_MOST_TOKENS}")
    return found
