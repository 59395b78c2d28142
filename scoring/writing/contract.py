"""Contract of a writer: the request it gets and the text it returns. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from scoring.metrics.batching import call_with_bisection
from scoring.metrics.contract import ExampleError, Fault, Sound


@dataclass(frozen=True)
class WritingRequest:
    """One text to be written: the item's sound where it has one, and what else it says by field name (question,
    reference, rationale, transcript, prompt, lyrics); `note` among them is what a person tells the model for this
    one. Fields that are empty are not there."""

    key: int
    sound: Sound | None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """A written text, stripped of surrounding white space and never empty.

    `cut`: it had more to say and was stopped, so the last word may not be whole. Tokens are the model's own; `seconds`
    is this one's share of the time that those written together took.
    """

    text: str
    cut: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class Writer(Protocol):
    """An opened writer, its weights in memory. `identity` holds, as JSON, everything that can change a text; `at_once`
    is how many requests it takes together."""

    @property
    def identity(self) -> Mapping[str, Any]: ...

    @property
    def at_once(self) -> int: ...

    def write(self, requests: Sequence[WritingRequest]) -> list[Text | ExampleError]:
        """In the order asked; an ExampleError in the place of each that cannot be written. Raises what concerns all of
        them: a SetupError, or that they do not fit into memory together."""
        ...


def text_of(written: str, **facts: Any) -> Text | ExampleError:
    """A model's words as a Text, or the fault that there are none."""
    if not (text := written.strip()):
        return ExampleError(
            "empty",
            "The model wrote nothing. Of a sound without speech a transcript may well be empty; otherwise look at the "
            "prompt, or use another model.",
        )
    return Text(text, **facts)


# ── batches: each fault stays with its text ──


def write_batch(writer: Writer, requests: Sequence[WritingRequest]) -> dict[int, Text | ExampleError]:
    """The result of every request, by its key. Raises SetupError: that concerns all of them."""
    outcomes = call_with_bisection(writer.write, requests, broken=_error_of)
    return {request.key: outcome for request, outcome in zip(requests, outcomes, strict=True)}


def _error_of(request: WritingRequest, fault: Fault) -> Text | ExampleError:
    return ExampleError(fault.code, fault.message)
