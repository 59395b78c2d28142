"""Direct prompting: the model hears and writes its judgment (AQAScore paper, §4.3 and appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from scoring.backbones.contract import Backbone
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import Example, ExampleError, Outcome
from scoring.metrics.llm_judge import (
    BETTER_CAPTION_FORMAT,
    DECISION_VALUES,
    LIMITS,
    MAX_NEW_TOKENS,
    PAM_FORMAT,
    RELATE_FORMAT,
    AnswerFormat,
    Instruction,
    Judgment,
    check_single,
    choice_format,
    chosen_prompts,
    fault_outcome,
    generate_judgments,
    instruction_of,
    is_sound_pair,
)
from scoring.metrics.registry import Runtime

CODE = 2
ANSWER_FORMATS: Mapping[str, AnswerFormat] = {
    "relate": RELATE_FORMAT,
    "pam": PAM_FORMAT,
    "baton": choice_format("Answer", DECISION_VALUES),
}
BETTER_MATCH_FORMAT = choice_format("Better Match", {"first audio": 1.0, "second audio": 0.0})


def open_prompting(options: Mapping[str, Any], runtime: Runtime) -> Prompting:
    """`task` relate: 0 to 10 (tables 8, 9). pam: 1 to 5 (8, 10). baton: preferred 1, rejected 0 (15, 16).

    Raises OptionError, SetupError.
    """
    task = options["task"]
    line = ANSWER_FORMATS[task]
    told = instruction_of(chosen_prompts(options, "prompting"), "prompting", task)

    def judgment(example: Example) -> Judgment:
        check_single(example)
        return Judgment(example.key, told, line, {"text": example.texts[0]}, example.sounds)

    backbone = open_backbone(options["backbone"], dtype=options["dtype"], runtime=runtime)
    return Prompting(backbone, judgment, output="score", told={task: told})


def open_pairs(options: Mapping[str, Any], runtime: Runtime) -> Prompting:
    """1 where the first is preferred, 0 where the second is: of two sounds (tables 13, 14) or two texts (11, 12).

    Each pair is asked about once, in the order of its candidates, as in the paper. Raises OptionError, SetupError.
    """
    prompts = chosen_prompts(options, "prompting")
    sounds = instruction_of(prompts, "prompting", "two-sounds")
    texts = instruction_of(prompts, "prompting", "two-texts")

    def judgment(example: Example) -> Judgment:
        if is_sound_pair(example):
            return Judgment(
                example.key, sounds, BETTER_MATCH_FORMAT, {"text": example.texts[0]}, example.sounds
            )
        values = dict(zip(("audio_caption1", "audio_caption2"), example.texts, strict=True))
        return Judgment(example.key, texts, BETTER_CAPTION_FORMAT, values, example.sounds)

    backbone = open_backbone(options["backbone"], dtype=options["dtype"], runtime=runtime)
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
                outcomes.append(fault_outcome(example.key, error))
        return outcomes + generate_judgments(self._backbone, judgments, output=self._output)
