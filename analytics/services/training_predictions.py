"""What a trained model says of things that it has not learned from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from analytics.services.scoring_loop import even_batches
from analytics.training_things import Judged
from scoring.metrics import registry
from scoring.metrics.batching import score_each
from scoring.metrics.contract import Example, Metric, Reading, Sound
from scoring.services.opened import workplace
from scoring.training.contract import ComparedPair, Prompt, RatedAnswer, RatedClip

# By candidate: readings by output.
Predictions = Mapping[int, Mapping[str, Reading]]


def opened(kind: str, folder: Path) -> Metric:
    """The trained model as the scorer that it is. Raises OptionError, SetupError."""
    return registry.open_metric(kind, {"checkpoint": str(folder)}, workplace())


def predicted(
    metric: Metric, judged: Sequence[Judged], *, progress: Callable[[int, int], None] = lambda done, of: None
) -> dict[int, Mapping[str, Reading]]:
    """The readings of each candidate; none for what cannot be scored."""
    examples = {example.key: example for one in judged for example in _examples(one)}
    found: dict[int, Mapping[str, Reading]] = {}
    done = 0
    for batch in even_batches(list(examples.values()), metric.limits):
        for outcome in score_each(metric, batch):
            if not outcome.fault:
                found[outcome.key] = outcome.readings
        done += len(batch)
        progress(done, len(examples))
    return found


def _examples(judged: Judged) -> list[Example]:
    thing = judged.thing
    if isinstance(thing, RatedAnswer):
        return [_of_answer(judged.candidates[0], thing)]
    if isinstance(thing, ComparedPair):
        sounds = (thing.first, thing.second)
        return [
            _of_sound(candidate, thing.prompt, sound)
            for candidate, sound in zip(judged.candidates, sounds, strict=True)
        ]
    assert isinstance(thing, RatedClip)
    return [_of_sound(judged.candidates[0], thing.prompt, thing.sound)]


def _of_answer(candidate: int, answer: RatedAnswer) -> Example:
    fields = {name: getattr(answer, name) for name in ("question", "reference", "rationale", "transcript")}
    return Example(candidate, (), (answer.candidate,), {name: text for name, text in fields.items() if text})


def _of_sound(candidate: int, prompt: Prompt, sound: Sound) -> Example:
    fields = {name: text for name, text in (("prompt", prompt.text), ("lyrics", prompt.lyrics)) if text}
    return Example(candidate, (sound,), (prompt.text,), fields, prompt.reference)
