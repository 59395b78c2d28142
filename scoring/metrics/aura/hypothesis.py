"""AURA's hypothesis: question and answer as one statement about the sound, by a language model (§3, Figure 6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from scoring.backbones.contract import Backbone, Decoding, GeneratedText, Hearing
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.answer_judge import field_text
from scoring.metrics.aura.memory import TextMemory
from scoring.metrics.contract import Example, ExampleError
from scoring.metrics.llm_judge import Instruction
from scoring.prompts import fill

# A change of this code that changes a hypothesis takes a new number.
CODE = 1

_REASONING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LABEL = re.compile(r"(?:\*\*)?(?:hypothesis|statement)\s*:\s*(?:\*\*)?\s*", re.IGNORECASE)
_QUOTED = re.compile(r"([\"“'*]{1,2})(.+?)[\"”'*]{1,2}\Z")
_SHOWN = 200


def read_hypothesis(answer: GeneratedText) -> str:
    """One statement in one line, in Latin letters; the label and quotation marks around it are passed over as
    typography. Raises ExampleError `no_hypothesis`: what is none is never guessed."""
    if answer.cut:
        raise _none(answer.text, "was cut off before its end, at the most tokens that a model may write")
    text = _LABEL.sub("", _REASONING.sub("", answer.text).strip(), count=1).strip()
    if quoted := _QUOTED.match(text):
        text = quoted[2].strip()
    if not any(character.isalpha() for character in text):
        raise _none(answer.text, "is empty")
    if text.startswith(("{", "[", "<", "`")):
        raise _none(text, "is not a plain sentence")
    if len(text.splitlines()) > 1:
        raise _none(text, "has more than one line; one statement was asked for")
    if not _is_latin(text):
        raise _none(text, "is not in English, the language that CLAP reads")
    return text


def _is_latin(text: str) -> bool:
    """Whether most letters are Latin: a script shows; a language in the same script cannot be told apart."""
    letters = [character for character in text if character.isalpha()]
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return 2 * latin > len(letters)


def _none(answer: str, what: str) -> ExampleError:
    shown = " ".join(answer[:_SHOWN].split())
    return ExampleError("no_hypothesis", f"The hypothesis {what}. It begins: “{shown}”")


class HypothesisWriter:
    """`identity` holds what can change a hypothesis, the backbone apart."""

    def __init__(
        self,
        backbone: Backbone,
        instruction: Instruction,
        decoding: Decoding,
        *,
        max_new_tokens: int,
        cache: FeatureCache,
    ) -> None:
        self._backbone, self._instruction, self._decoding = backbone, instruction, decoding
        self._max_new_tokens = max_new_tokens
        self.identity: Mapping[str, Any] = {
            "prompt": asdict(instruction),
            "decoding": {**decoding.identity, "max_new_tokens": max_new_tokens},
        }
        whole = {"hypothesis": CODE, "backbone": dict(backbone.identity), **self.identity}
        self._memory = TextMemory(cache, whole)

    def write(self, examples: Sequence[Example]) -> dict[int, GeneratedText | Exception]:
        """By the examples' keys: the hypothesis, or the ExampleError that left none."""
        texts = {one.key: (field_text(one, "question"), one.texts[0].strip()) for one in examples}
        known = {key: self._memory.get(*both) for key, both in texts.items()}
        hypotheses: dict[int, GeneratedText | Exception] = {
            key: GeneratedText(**one) for key, one in known.items() if one is not None
        }
        # The same answer to the same question may be about many sounds.
        new = list(dict.fromkeys(texts[key] for key, one in known.items() if one is None))
        written = dict(zip(new, map(_hypothesis, self._request(new)), strict=True))
        for both, one in written.items():
            if isinstance(one, GeneratedText):
                stored = {
                    "text": one.text,
                    "prompt_tokens": one.prompt_tokens,
                    "completion_tokens": one.completion_tokens,
                }
                self._memory.put(stored, *both)
        return hypotheses | {key: written[both] for key, both in texts.items() if key not in hypotheses}

    def _request(self, texts: Sequence[tuple[str, str]]) -> Sequence[Sequence[GeneratedText] | Exception]:
        if not texts:
            return []
        questions = [
            fill(self._instruction.ask, {"question": question, "candidate": candidate})
            for question, candidate in texts
        ]
        return self._backbone.generate(
            [Hearing((), (question,)) for question in questions],
            system=self._instruction.system,
            max_new_tokens=self._max_new_tokens,
            decoding=self._decoding,
        )


def _hypothesis(answers: Sequence[GeneratedText] | Exception) -> GeneratedText | Exception:
    if isinstance(answers, Exception):
        return answers
    (answer,) = answers
    try:
        return replace(answer, text=read_hypothesis(answer))
    except ExampleError as error:
        return error
