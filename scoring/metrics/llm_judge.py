"""LLM-as-a-judge: a model writes a judgment in a required format, and the one line that counts is parsed strictly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.backbones.contract import Backbone, GeneratedText, Hearing
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Outcome, Reading, Sound
from scoring.metrics.registry import OptionError
from scoring.prompts import PromptError, Prompts, fill, parse, prompt_files, shipped

# ── parsing: an answer that is not in the format is a fault, never guessed ──

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")
_SHOWN = 200


@dataclass(frozen=True)
class AnswerFormat:
    """The one line that counts in an answer: a label, a colon and a value, as "Score: 7".

    `form` is how the prompt writes it; `value` turns what follows the colon into a number, None where it cannot.
    """

    label: str
    form: str
    value: Callable[[str], float | None]


def number_format(label: str, *, low: float, high: float) -> AnswerFormat:
    """A number on a scale, both ends included; between the labelled points and with a fraction, too."""

    def value(text: str) -> float | None:
        given = float(text) if _NUMBER.match(text) else None
        return given if given is not None and low <= given <= high else None

    return AnswerFormat(label, f"{label}: <number from {low:g} to {high:g}>", value)


def choice_format(label: str, values: Mapping[str, float]) -> AnswerFormat:
    """One of a few words. Their case is free: the papers' own prompts write both "Preferred" and "preferred"."""
    return AnswerFormat(label, f"{label}: <{' or '.join(values)}>", lambda text: values.get(text.lower()))


def parse_answer(answer: str, line: AnswerFormat) -> float:
    """The value of the answer's line. Raises ExampleError `unparsable`.

    The line stands on its own, anywhere in the answer; it may be repeated, but not with another value. Spaces around it
    and asterisks for bold type are passed over: models put them there as typography, and nothing else can be meant.
    """
    lines = [text.replace("**", "").strip() for text in answer.splitlines()]
    head = f"{line.label}:"
    values = {line.value(text.removeprefix(head).strip()) for text in lines if text.startswith(head)}
    if not values:
        raise _unparsable_error(answer, f"has no line “{line.form}”")
    read_values = [value for value in values if value is not None]
    if len(read_values) < len(values):
        raise _unparsable_error(answer, f"has a line that is not “{line.form}”")
    if len(read_values) > 1:
        raise _unparsable_error(answer, f"gives more than one “{line.form}”")
    return read_values[0]


def truncated_error(answer: str) -> ExampleError:
    """For an answer that was stopped before its end: "Score: 1" may have been to become "Score: 10"."""
    return _unparsable_error(answer, "was cut off before its end, at the most tokens that a model may write")


def _unparsable_error(answer: str, what: str) -> ExampleError:
    shown = " ".join(answer[:_SHOWN].split())
    return ExampleError("unparsable", f"The answer {what}. It begins: “{shown}”")


# Paper, appendix A.6: greedy decoding, 512 new tokens at most.
MAX_NEW_TOKENS = 512
LIMITS = BatchLimits(examples=32, seconds=600.0)
DECISION_VALUES: Mapping[str, float] = {"preferred": 1.0, "rejected": 0.0}
RELATE_FORMAT = number_format("Score", low=0, high=10)
PAM_FORMAT = number_format("Score", low=1, high=5)
BETTER_CAPTION_FORMAT = choice_format("Better Caption", {"1": 1.0, "2": 0.0})


@dataclass(frozen=True)
class Instruction:
    """A system prompt and a question with placeholders."""

    system: str
    ask: str


@dataclass(frozen=True)
class Judgment:
    """One judgment to be written: of an example, under a system prompt, to be read from a line."""

    key: int
    instruction: Instruction
    line: AnswerFormat
    values: Mapping[str, str]
    sounds: tuple[Sound, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def hearing(self) -> Hearing:
        return Hearing(self.sounds, (fill(self.instruction.ask, self.values),))


def chosen_prompts(options: Mapping[str, Any], name: str) -> Prompts:
    """A study's own prompts where it gives some, else the shipped ones. Raises OptionError."""
    try:
        return parse(options["prompts"]) if options["prompts"] else shipped(name)
    except PromptError as error:
        raise OptionError("prompts", str(error)) from error


def instruction_of(prompts: Prompts, family: str, key: str) -> Instruction:
    """The prompts of one kind of judgment. Raises OptionError where the prompts lack it or cannot be used for it."""
    try:
        return Instruction(
            prompt_files.system_prompt_of(prompts, key), prompt_files.question_of(prompts, family, key)
        )
    except PromptError as error:
        raise OptionError("prompts", str(error)) from error


def check_single(example: Example) -> None:
    """Raises ExampleError where an example is not one sound and one text."""
    if len(example.sounds) != 1:
        raise ExampleError("no_sound", f"This one has {len(example.sounds)} sounds; one is needed.")
    if len(example.texts) != 1:
        raise ExampleError("no_text", f"This one has {len(example.texts)} texts; one is needed.")


def is_sound_pair(example: Example) -> bool:
    """Whether a pair is two sounds of one text, not one sound under two texts. Raises ExampleError for neither."""
    counts = len(example.sounds), len(example.texts)
    if counts not in ((2, 1), (1, 2)):
        code = "no_sound" if not counts[0] else "no_text"
        raise ExampleError(
            code,
            f"This pair has {counts[0]} sounds and {counts[1]} texts; two sounds and one text, or one sound and two "
            "texts, are needed.",
        )
    return counts == (2, 1)


def generate_judgments(backbone: Backbone, judgments: Sequence[Judgment], *, output: str) -> list[Outcome]:
    """The parsed judgments of a model. Those under one system prompt are generated together."""
    by_system: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        by_system.setdefault(judgment.instruction.system, []).append(judgment)
    outcomes = []
    for system, together in by_system.items():
        hearings = [judgment.hearing() for judgment in together]
        answers = backbone.generate(hearings, system=system, max_new_tokens=MAX_NEW_TOKENS)
        outcomes += [_outcome(*pair, output=output) for pair in zip(together, answers, strict=True)]
    return outcomes


def fault_outcome(key: int, error: Exception) -> Outcome:
    """The outcome of an example that could not be scored; what is no ExampleError is raised again."""
    if not isinstance(error, ExampleError):
        raise error
    return Outcome(key, fault=error.fault)


def _outcome(judgment: Judgment, answers: Sequence[GeneratedText] | Exception, *, output: str) -> Outcome:
    if isinstance(answers, Exception):
        return fault_outcome(judgment.key, answers)
    (answer,) = answers
    try:
        if answer.cut:
            raise truncated_error(answer.text)
        value = parse_answer(answer.text, judgment.line)
    except ExampleError as error:
        return fault_outcome(judgment.key, error)
    return Outcome(
        judgment.key, {output: Reading(value, provenance={**judgment.provenance, "answer": answer.text})}
    )
