"""Contract of a backbone: what a metric may ask of an audio language model, wherever that model runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from scoring.metrics.contract import Sound


@dataclass(frozen=True)
class Hearing:
    """Sounds heard once and the questions asked about them, each on its own: no question sees another.

    `sounds` come before each question, in their order.
    """

    sounds: tuple[Sound, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True)
class YesNoLogProbs:
    """Log-probabilities of the two answers at the first answer position, over the whole vocabulary. Their difference is
    exact; what they have in common may be as coarse as the model's dtype.

    `bounded` names answers ("yes", "no") of which only an upper bound is known, because a server lists no more than its
    likeliest tokens.
    """

    yes: float
    no: float
    bounded: tuple[str, ...] = ()


@dataclass(frozen=True)
class GeneratedText:
    """A generated text. `cut`: generation was stopped at the token limit, so the last word may not be whole. Tokens as
    the model's own tokenizer, or its server, counts them."""

    text: str
    cut: bool = False
    prompt_tokens: int = field(default=0, compare=False)
    completion_tokens: int = field(default=0, compare=False)


@dataclass(frozen=True)
class AnswerTokens:
    """The spellings that count as each answer; their probabilities are summed. The paper fixes no casing."""

    yes: tuple[str, ...] = ("Yes",)
    no: tuple[str, ...] = ("No",)


class Backbone(Protocol):
    """`identity` holds what can change an answer: model, weights, dtype, preprocessing.

    Both methods answer in the order asked, and return an ExampleError in the place of each hearing that cannot be
    answered (a sound that cannot be decoded, a text that is too long). They raise for what concerns all of them.
    """

    @property
    def identity(self) -> Mapping[str, Any]: ...

    def prepare(self, sounds: Sequence[Sound]) -> None:
        """Begin to decode these in threads, and return at once."""
        ...

    def answer_logprobs(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNoLogProbs] | Exception]:
        """For each hearing one YesNoLogProbs per question, from the logits: nothing is generated."""
        ...

    def generate(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[GeneratedText] | Exception]:
        """For each hearing one greedily decoded answer per question. `sounds` may be empty: text only."""
        ...
