"""Direct prompting: the model hears and writes its judgment (AQAScore paper, §4.3 and appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scoring.backbones.contract import Backbone
from scoring.backbones.opening import open_backbone
from scoring.metrics.answers import AnswerLine, choice_line
from scoring.metrics.contract import Example, ExampleError, Outcome
from scoring.metrics.judging import (
    BETTER_CAPTION,
    DECISION,
    LIMITS,
    MAX_NEW_TOKENS,
    PAM,
    RELATE,
    Instruction,
    Judgment,
    faulty,
    instruction,
    is_two_sounds,
    judged,
    one_of_each,
    prompts_of,
)
from scoring.metrics.registry import Workplace

CODE = 2
LINES: Mapping[str, AnswerLine] = {"relate": RELATE, "pam": PAM, "baton": choice_line("Answer", DECISION)}
BETTER_MATCH = choice_line("Better Match", {"first audio": 1.0, "second audio": 0.0})


def open_prompting(options: Mapping[str, Any], workplace: Workplace) -> Prompting:
    """`task` relate: 0 to 10 (tables 8, 9). pam: 1 to 5 (8, 10). baton: preferred 1, rejected 0 (15, 16).

    Raises OptionError, SetupError.
    """
    task = options["task"]
    line = LINES[task]
    told = instruction(prompts_of(options, "prompting"), "prompting", task)

    def judgment(example: Example) -> Judgment:
        one_of_each(example)
        return Judgment(example.key, told, line, {"text": example.texts[0]}, example.sounds)

    backbone = open_backbone(options["backbone"], dtype=options["dtype"], workplace=workplace)
    return Prompting(backbone, judgment, output="score", told={task: told})


def open_pairs(options: Mapping[str, Any], workplace: Workplace) -> Prompting:
    """1 where the first is preferred, 0 where the second is: of two sounds (tables 13, 14) or two texts (11, 12).

    Each pair is asked about once, in the order of its candidates, as in the paper. Raises OptionError, SetupError.
    """
    prompts = prompts_of(options, "prompting")
    sounds = instruction(prompts, "prompting", "two-sounds")
    texts = instruction(prompts, "prompting", "two-texts")

    def judgment(example: Example) -> Judgment:
        if is_two_sounds(example):
            return Judgment(example.key, sounds, BETTER_MATCH, {"text": example.texts[0]}, example.sounds)
        values = dict(zip(("audio_caption1", "audio_caption2"), example.texts, strict=True))
        return Judgment(example.key, texts, BETTER_CAPTION, values, example.sounds)

    backbone = open_backbone(options["backbone"], dtype=options["dtype"], workplace=workplace)
    return Prompting(backbone, judgment, output="preference", told={"two-sounds": sounds, "two-texts": texts})


class Prompting:
    """See Metric. `judgment` says what is asked of an example, or raises ExampleError."""

    limits = LIMITS

    def __init__(
        self,
        backbone: Backbone,
        judgment: Callable[[Example], Judgment],
        *,
        output: str,
        told: Mapping[str, Instruction],
    ) -> None:
        self._backbone = backbone
        self._judgment = judgment
        self._output = output
        self.identity: Mapping[str, Any] = {
            "metric": "prompting",
            "code": CODE,
            "prompts": {name: asdict(instruction) for name, instruction in told.items()},
            "decoding": f"greedy, {MAX_NEW_TOKENS} new tokens at most",
            "backbone": dict(backbone.identity),
        }

    def prepare(self, examples: Sequence[Example]) -> None:
        self._backbone.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        judgments, outcomes = [], []
        for example in examples:
            try:
                judgments.append(self._judgment(example))
            except ExampleError as error:
                outcomes.append(faulty(example.key, error))
        return outcomes + judged(self._backbone, judgments, output=self._output)
