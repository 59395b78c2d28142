"""What a prompt file must hold for direct prompting and for the cascade. Checked when a study brings its own file, and
again when a run opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.prompts.load import PLACEHOLDER, PromptError, Prompts

ASK = "ask"
SYSTEM = "system"


@dataclass(frozen=True)
class Need:
    """The placeholders of a question, and the line that will be read of its answer, if it is only one."""

    placeholders: frozenset[str]
    line: str = ""


_TEXT = frozenset({"text"})
_CAPTION = frozenset({"ground_truth_description", "audio_caption"})
_CAPTIONS = frozenset({"audio_caption1", "audio_caption2"})
_SCORE = "Score: <number>"
_BETTER_CAPTION = "Better Caption: <1 or 2>"

NEEDS: Mapping[str, Mapping[str, Need]] = {
    "prompting": {
        "relate": Need(_TEXT, _SCORE),
        "pam": Need(_TEXT, _SCORE),
        "baton": Need(_TEXT, "Answer: <preferred or rejected>"),
        "two-sounds": Need(_TEXT, "Better Match: <first audio or second audio>"),
        "two-texts": Need(_CAPTIONS, _BETTER_CAPTION),
    },
    "cascade": {
        "caption": Need(frozenset()),
        "relate": Need(_CAPTION, _SCORE),
        "pam": Need(_CAPTION, _SCORE),
        "baton": Need(_CAPTION, "Decision: <preferred or rejected>"),
        "two-sounds": Need(_CAPTIONS | {"ground_truth_description"}, _BETTER_CAPTION),
        "two-texts": Need(_CAPTIONS | {"ground_truth_description"}, _BETTER_CAPTION),
    },
}


def check(prompts: Prompts, family: str) -> None:
    """Whatever a file holds for this family of scorers must be usable, though it need not hold everything. Raises
    PromptError. Families without needs of their own pass."""
    if family not in NEEDS:
        return
    needs = NEEDS[family]
    for name, keys in prompts.questions.items():
        if name not in (ASK, SYSTEM):
            raise PromptError(
                f"questions.{name}: not known here; {family} has questions.{ASK} and .{SYSTEM}."
            )
        for key in keys:
            if key not in needs:
                raise PromptError(f"questions.{name}.{key}: not known here; there are {', '.join(needs)}.")
    for key in prompts.questions.get(ASK, {}):
        question(prompts, family, key)


def question(prompts: Prompts, family: str, key: str) -> str:
    """A question that holds what it must. Raises PromptError where it is missing or does not."""
    place, need = f"questions.{ASK}.{key}", NEEDS[family][key]
    ask = prompts.questions.get(ASK, {}).get(key)
    if ask is None:
        raise PromptError(f"{place}: missing; it is what this scorer asks.")
    if set(PLACEHOLDER.findall(ask)) != need.placeholders:
        said = ", ".join(f"{{{name}}}" for name in sorted(need.placeholders)) or "no {placeholder}"
        raise PromptError(f"{place}: must hold {said}, once or more, and no other.")
    label = need.line.partition("<")[0].strip()
    if label not in ask + system(prompts, key):
        raise PromptError(f"{place}: must ask for a line “{need.line}”; that line is what is read.")
    return ask


def system(prompts: Prompts, key: str) -> str:
    """The system prompt of a question: its own, or the file's."""
    return prompts.questions.get(SYSTEM, {}).get(key, prompts.system)
