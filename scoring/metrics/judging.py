"""Having a model write a judgment in a given format: what prompting and cascade share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.backbones.contract import Backbone, Hearing, Written
from scoring.metrics.answers import AnswerLine, choice_line, cut_off, number_line, read
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Outcome, Reading, Sound
from scoring.metrics.registry import OptionError
from scoring.prompts import PromptError, Prompts, fill, needs, parse, shipped

# Paper, appendix A.6: greedy decoding, 512 new tokens at most.
MAX_NEW_TOKENS = 512
LIMITS = BatchLimits(examples=32, seconds=600.0)
DECISION: Mapping[str, float] = {"preferred": 1.0, "rejected": 0.0}
RELATE = number_line("Score", low=0, high=10)
PAM = number_line("Score", low=1, high=5)
BETTER_CAPTION = choice_line("Better Caption", {"1": 1.0, "2": 0.0})


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
    line: AnswerLine
    values: Mapping[str, str]
    sounds: tuple[Sound, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def hearing(self) -> Hearing:
        return Hearing(self.sounds, (fill(self.instruction.ask, self.values),))


def prompts_of(options: Mapping[str, Any], name: str) -> Prompts:
    """A study's own prompts where it gives some, else the shipped ones. Raises OptionError."""
    try:
        return parse(options["prompts"]) if options["prompts"] else shipped(name)
    except PromptError as error:
        raise OptionError("prompts", str(error)) from error


def instruction(prompts: Prompts, family: str, key: str) -> Instruction:
    """What is said for one kind of judgment. Raises OptionError where the prompts lack it or cannot be used for it."""
    try:
        return Instruction(needs.system(prompts, key), needs.question(prompts, family, key))
    except PromptError as error:
        raise OptionError("prompts", str(error)) from error


def one_of_each(example: Example) -> None:
    """Raises ExampleError where an example is not one sound and one text."""
    if len(example.sounds) != 1:
        raise ExampleError("no_sound", f"This one has {len(example.sounds)} sounds; one is needed.")
    if len(example.texts) != 1:
        raise ExampleError("no_text", f"This one has {len(example.texts)} texts; one is needed.")


def is_two_sounds(example: Example) -> bool:
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


def judged(backbone: Backbone, judgments: Sequence[Judgment], *, output: str) -> list[Outcome]:
    """What the model wrote of each, read. Judgments under one system prompt go together."""
    by_system: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        by_system.setdefault(judgment.instruction.system, []).append(judgment)
    outcomes = []
    for system, together in by_system.items():
        hearings = [judgment.hearing() for judgment in together]
        answers = backbone.write(hearings, system=system, max_new_tokens=MAX_NEW_TOKENS)
        outcomes += [_outcome(*pair, output=output) for pair in zip(together, answers, strict=True)]
    return outcomes


def faulty(key: int, error: Exception) -> Outcome:
    """The outcome of an example that could not be scored; what is no ExampleError is raised again."""
    if not isinstance(error, ExampleError):
        raise error
    return Outcome(key, fault=error.fault)


def _outcome(judgment: Judgment, answers: Sequence[Written] | Exception, *, output: str) -> Outcome:
    if isinstance(answers, Exception):
        return faulty(judgment.key, answers)
    (answer,) = answers
    try:
        if answer.cut:
            raise cut_off(answer.text)
        value = read(answer.text, judgment.line)
    except ExampleError as error:
        return faulty(judgment.key, error)
    return Outcome(
        judgment.key, {output: Reading(value, provenance={**judgment.provenance, "answer": answer.text})}
    )
