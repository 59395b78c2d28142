"""What a study's items are in truth, where they are the demo's: known by their names and texts, without a sound."""

from __future__ import annotations

from functools import cache

from annotation.demo.catalogue import SYSTEMS, MusicSystem, Prompt, load_prompts
from annotation.demo.clips import Outcome, draw_outcome
from annotation.demo.scenes import Question, load_questions

# Of the demo that every installation makes.
SEED = 1


def outcome(item: str, *, prompt: str, system: str) -> Outcome | None:
    """What is wrong with a system's clip for an item; None where the item is not the demo's, or not any more: of a
    corrected prompt nobody knows what the clips are worth."""
    found = _prompts().get(item)
    if found is None or found.text != prompt or system not in _systems():
        return None
    return draw_outcome(found, _systems()[system], seed=SEED)


def answer(item: str, *, text: str) -> tuple[Question, int] | None:
    """The question of an item and which of its answers a text is. The truth is what is heard: a corrected reference
    changes nothing of it."""
    question = _questions().get(item)
    if question is None or text not in question.answers:
        return None
    return question, question.answers.index(text)


@cache
def _prompts() -> dict[str, Prompt]:
    return {prompt.id: prompt for prompt in load_prompts()}


@cache
def _systems() -> dict[str, MusicSystem]:
    return {system.name: system for system in SYSTEMS}


@cache
def _questions() -> dict[str, Question]:
    return {question.id: question for question in load_questions()}
