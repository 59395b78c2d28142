"""AQAScore of pairs: which of two sounds fits a text, or which of two texts a sound (paper, section 3 and A.7)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import Backbone, Hearing, YesNo
from scoring.backbones.opening import open_backbone
from scoring.metrics.aqascore import ANSWERS, LIMITS, identity, probability, reading, with_ensemble
from scoring.metrics.aqascore_questions import asked_of_pairs
from scoring.metrics.contract import Example, ExampleError, Outcome, Reading
from scoring.metrics.judging import faulty, is_two_sounds
from scoring.metrics.registry import Workplace
from scoring.prompts import fill


def open_aqascore_pairs(options: Mapping[str, Any], workplace: Workplace) -> AQAScorePairs:
    """Raises OptionError, SetupError."""
    system, templates = asked_of_pairs(options)
    backbone = open_backbone(options["backbone"], dtype=options["dtype"], workplace=workplace)
    kind = AskedPairs if options["method"] == "ask" else ComparedPairs
    return kind(backbone, templates, system=system, answers=options["answers"])


class AQAScorePairs(ABC):
    """One reading per template, `mean` and `spread` as for single ones; above `prefers_first_above` the first of the
    two candidates is preferred."""

    limits = LIMITS
    method: str
    prefers_first_above: float

    def __init__(
        self, backbone: Backbone, templates: Mapping[str, str], *, system: str, answers: str
    ) -> None:
        self._backbone = backbone
        self._templates = templates
        self._system = system
        self._answers = ANSWERS[answers]
        self.identity = {
            **identity("aqascore-pairs", backbone, templates, system=system, answers=answers),
            "method": self.method,
            "prefers_first_above": self.prefers_first_above,
        }

    def prepare(self, examples: Sequence[Example]) -> None:
        self._backbone.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        asked: list[tuple[int, list[Hearing]]] = []
        for example in examples:
            try:
                asked.append((example.key, self._hearings(example)))
            except ExampleError as error:
                outcomes.append(faulty(example.key, error))
        answers = iter(
            self._backbone.ask(
                [hearing for _, hearings in asked for hearing in hearings],
                system=self._system,
                answers=self._answers,
            )
        )
        return outcomes + [self._outcome(key, [next(answers) for _ in hearings]) for key, hearings in asked]

    def _outcome(self, key: int, answers: Sequence[Sequence[YesNo] | Exception]) -> Outcome:
        found: list[YesNo] = []
        for answer in answers:
            if isinstance(answer, Exception):
                return faulty(key, answer)
            found.extend(answer)
        return Outcome(key, with_ensemble(dict(zip(self._templates, self._readings(found), strict=True))))

    @abstractmethod
    def _hearings(self, example: Example) -> list[Hearing]:
        """What is asked of the sound or sounds of a pair."""

    @abstractmethod
    def _readings(self, found: Sequence[YesNo]) -> list[Reading]:
        """One per template, from the answers to all questions in their order."""


class ComparedPairs(AQAScorePairs):
    """The difference of two scores, the first less the second. Its sign is the paper's Pref, in either direction."""

    method = "compare"
    prefers_first_above = 0.0

    def _hearings(self, example: Example) -> list[Hearing]:
        if is_two_sounds(example):
            return [Hearing((sound,), self._questions(example.texts[0])) for sound in example.sounds]
        first, second = (self._questions(text) for text in example.texts)
        return [Hearing(example.sounds, first + second)]

    def _questions(self, text: str) -> tuple[str, ...]:
        return tuple(fill(template, {"text": text}) for template in self._templates.values())

    def _readings(self, found: Sequence[YesNo]) -> list[Reading]:
        middle = len(found) // 2
        return [_difference(*pair) for pair in zip(found[:middle], found[middle:], strict=True)]


class AskedPairs(AQAScorePairs):
    """The probability that the first text is the better one of a sound, asked outright.

    Asked once, in the order of the candidates, as in the paper: a model's liking for the first place stays in the
    value. Scoring the pair again with its candidates exchanged shows how large it is.
    """

    method = "ask"
    prefers_first_above = 0.5

    def _hearings(self, example: Example) -> list[Hearing]:
        if is_two_sounds(example):
            raise ExampleError(
                "no_text",
                "This pair has one text; asking compares two texts of one sound. Use method compare.",
            )
        values = {"text1": example.texts[0], "text2": example.texts[1]}
        questions = tuple(fill(template, values) for template in self._templates.values())
        return [Hearing(example.sounds, questions)]

    def _readings(self, found: Sequence[YesNo]) -> list[Reading]:
        return [reading(answer) for answer in found]


def _difference(first: YesNo, second: YesNo) -> Reading:
    values = {"first": probability(first), "second": probability(second)}
    bounded = [
        f"{which}.{answer}" for which, one in (("first", first), ("second", second)) for answer in one.bounded
    ]
    return Reading(values["first"] - values["second"], values, {"bounded": bounded} if bounded else {})
