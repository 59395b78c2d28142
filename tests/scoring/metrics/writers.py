"""Backbones that write what a test tells them to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.backbones.contract import AnswerTokens, GeneratedText, Hearing, YesNoLogProbs
from scoring.metrics.contract import Example, Sound


class Writer:
    """Writes `says(sounds' hashes, question)`; remembers each question with its system prompt in `asked`."""

    def __init__(
        self, says: Callable[[tuple[str, ...], str], str | GeneratedText | Exception], name: str = "writer"
    ) -> None:
        self.says = says
        self.identity: Mapping[str, Any] = {"backbone": name}
        self.asked: list[tuple[tuple[str, ...], str, str]] = []
        self.prepared: list[str] = []

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self.prepared += [sound.sha256 for sound in sounds]

    def answer_logprobs(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNoLogProbs] | Exception]:
        raise AssertionError("nothing here reads log-probabilities")

    def generate(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[GeneratedText] | Exception]:
        assert max_new_tokens == 512
        return [self._one(hearing, system) for hearing in hearings]

    def _one(self, hearing: Hearing, system: str) -> Sequence[GeneratedText] | Exception:
        heard = tuple(sound.sha256 for sound in hearing.sounds)
        said = []
        for question in hearing.questions:
            self.asked.append((heard, question, system))
            said.append(self.says(heard, question))
        fault = next((one for one in said if isinstance(one, Exception)), None)
        return fault or [one if isinstance(one, GeneratedText) else GeneratedText(str(one)) for one in said]


def sound(name: str) -> Sound:
    return Sound(name, Path(f"{name}.wav"), 1.0)


def single(key: int, name: str, text: str) -> Example:
    return Example(key, (sound(name),), (text,))


def two_sounds(key: int, first: str, second: str, text: str) -> Example:
    return Example(key, (sound(first), sound(second)), (text,))


def two_texts(key: int, name: str, first: str, second: str) -> Example:
    return Example(key, (sound(name),), (first, second))
