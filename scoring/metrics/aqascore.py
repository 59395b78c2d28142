"""AQAScore: the probability that an audio language model answers yes when asked whether a sound holds what a text says.

    AQAScore(a, t) = sigmoid(log p(Yes | a, q(t)) - log p(No | a, q(t)))        (Kuan, Chang and Lee, section 3)

at the first position of the answer, from the model's own probabilities: nothing is generated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import AnswerTokens, Backbone, Hearing, YesNo
from scoring.backbones.opening import open_backbone
from scoring.metrics.aqascore_questions import asked
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Outcome, Reading
from scoring.metrics.judging import faulty, one_of_each
from scoring.metrics.registry import Workplace
from scoring.prompts import fill

CODE = 1
LIMITS = BatchLimits(examples=16, seconds=480.0)

# The paper writes "Yes" and "No" in its formula and "yes" and "no" in its system prompt.
ANSWERS: Mapping[str, AnswerTokens] = {
    "exact": AnswerTokens(),
    "any-case": AnswerTokens(yes=("Yes", "yes", "YES"), no=("No", "no", "NO")),
}


def open_aqascore(options: Mapping[str, Any], workplace: Workplace) -> AQAScore:
    """Raises OptionError, SetupError."""
    system, templates = asked(options)
    backbone = open_backbone(options["backbone"], dtype=options["dtype"], workplace=workplace)
    return AQAScore(backbone, templates, system=system, answers=options["answers"])


class AQAScore:
    """One reading per template, by its name; of several also their `mean` and `spread` (sample standard deviation)."""

    limits = LIMITS

    def __init__(
        self, backbone: Backbone, templates: Mapping[str, str], *, system: str, answers: str
    ) -> None:
        self._backbone = backbone
        self._templates = templates
        self._system = system
        self._answers = ANSWERS[answers]
        self.identity = identity("aqascore", backbone, templates, system=system, answers=answers)

    def prepare(self, examples: Sequence[Example]) -> None:
        self._backbone.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        outcomes, asked = [], []
        for example in examples:
            try:
                one_of_each(example)
                asked.append((example.key, Hearing(example.sounds, self._questions(example))))
            except ExampleError as error:
                outcomes.append(faulty(example.key, error))
        answers = self._backbone.ask(
            [hearing for _, hearing in asked], system=self._system, answers=self._answers
        )
        return outcomes + [self._outcome(key, found) for (key, _), found in zip(asked, answers, strict=True)]

    def _questions(self, example: Example) -> tuple[str, ...]:
        return tuple(fill(template, {"text": example.texts[0]}) for template in self._templates.values())

    def _outcome(self, key: int, answers: Sequence[YesNo] | Exception) -> Outcome:
        if isinstance(answers, Exception):
            return faulty(key, answers)
        readings = {name: reading(found) for name, found in zip(self._templates, answers, strict=True)}
        return Outcome(key, with_ensemble(readings))


def probability(found: YesNo) -> float:
    """Of yes, where yes and no are all there is. NaN stays NaN."""
    difference = found.yes - found.no
    if difference < 0:
        return math.exp(difference) / (1.0 + math.exp(difference))
    return 1.0 / (1.0 + math.exp(-difference))


def reading(found: YesNo) -> Reading:
    provenance = {"bounded": list(found.bounded)} if found.bounded else {}
    return Reading(probability(found), {"yes": found.yes, "no": found.no}, provenance)


def with_ensemble(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """With several templates, their mean and how far they lie apart (section 5.4)."""
    values = [found.value for found in readings.values()]
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return dict(readings)
    ensemble = {"mean": Reading(statistics.fmean(values)), "spread": Reading(statistics.stdev(values))}
    return {**readings, **ensemble}


def identity(
    metric: str, backbone: Backbone, templates: Mapping[str, str], *, system: str, answers: str
) -> dict[str, Any]:
    spellings = ANSWERS[answers]
    return {
        "metric": metric,
        "code": CODE,
        "backbone": dict(backbone.identity),
        "system": system,
        "templates": dict(templates),
        # Of several spellings those count that are one token for the backbone.
        "answers": {"yes": list(spellings.yes), "no": list(spellings.no)},
    }
