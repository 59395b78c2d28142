"""AQAScore: the probability that an audio language model answers yes when asked whether a sound holds what a text says.

    AQAScore(a, t) = sigmoid(log p(Yes | a, q(t)) - log p(No | a, q(t)))        (Kuan, Chang and Lee, section 3)

at the first position of the answer, from the model's own probabilities: nothing is generated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import AnswerTokens, Backbone, Hearing, YesNoLogProbs
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Outcome, Reading
from scoring.metrics.llm_judge import check_single, chosen_prompts, fault_outcome, is_sound_pair
from scoring.metrics.registry import OptionError, Runtime
from scoring.metrics.server_use import ServerUse
from scoring.prompts import PLACEHOLDER, Prompts, fill, shipped

# Outputs of the ensemble, and what a column of scores can be called at most.
_ALL = "all"
_RESERVED = {"mean", "spread", _ALL}
_LONGEST_NAME = 40


def questions_of(options: Mapping[str, Any]) -> tuple[Prompts, dict[str, str]]:
    """The prompts, and the templates by the names of their outputs, checked before any model is loaded: about one
    sound and one text, or with the method ask about two texts. Raises OptionError."""
    prompts = chosen_prompts(options, "aqascore")
    asks = options.get("method") == "ask"
    templates: dict[str, str] = {}
    for name in options["template"]:
        templates |= _templates_named(prompts.questions, name, of="captions" if asks else "text")
    needed = ["text1", "text2"] if asks else ["text"]
    for name, template in templates.items():
        if set(PLACEHOLDER.findall(template)) != set(needed):
            names = " and ".join(f"{{{placeholder}}}" for placeholder in needed)
            raise OptionError("template", f"{name}: must hold {names}, and no other placeholders: {template}")
        if name in _RESERVED or len(name) > _LONGEST_NAME:
            raise OptionError(
                "template", f"{name}: is reserved or too long for a name; rename this question."
            )
    return prompts, templates


def _templates_named(sets: Mapping[str, Mapping[str, str]], name: str, *, of: str) -> dict[str, str]:
    """`name` is a key of the set `of`, or set.key; `all` stands for a whole set."""
    before, dot, key = name.rpartition(".")
    group = sets.get(before if dot else of)
    if group is None:
        raise OptionError(
            "template",
            f"{name}: there is no set {before or of!r}; there are {', '.join(sets)}. Name a question of these, or add "
            "the set to the prompt file.",
        )
    if key == _ALL:
        return {f"{before}{dot}{one}": text for one, text in group.items()}
    if key not in group:
        raise OptionError("template", f"{name}: there is no such question; there are {', '.join(group)}.")
    return {name: group[key]}


# Of the sets whose questions are rows of the paper, in its order: the tables that list them, and those in which the
# first row alone stands (compared figure by figure). Table 6 shows none of the rows of Tables 33 and 34.
_LISTED = {
    "table-29": ("Tables 29, 30 and 36", "Tables 2 and 3"),
    "compa": ("Table 35", "Table 4"),
    "captions": ("Tables 31 and 32", "Table 5"),
    "captions-brace": ("Tables 33 and 34", ""),
}


def published_row(question: str) -> str:
    """Where the AQAScore paper lists a question of this wording; empty where it does not."""
    for name, (tables, shown) in _LISTED.items():
        rows = list(shipped("aqascore").questions[name].values())
        if question in rows:
            row = rows.index(question) + 1
            return f"row {row} of {tables}" + (f", shown in {shown}" if row == 1 and shown else "")
    return ""


CODE = 1

# The paper writes "Yes" and "No" in its formula and "yes" and "no" in its system prompt.
ANSWERS: Mapping[str, AnswerTokens] = {
    "exact": AnswerTokens(),
    "any-case": AnswerTokens(yes=("Yes", "yes", "YES"), no=("No", "no", "NO")),
}


def open_aqascore(options: Mapping[str, Any], runtime: Runtime) -> AQAScore:
    """With a `method`, of pairs. Raises OptionError, SetupError."""
    prompts, templates = questions_of(options)
    backbone = open_backbone(options["backbone"], dtype=options["dtype"], runtime=runtime)
    kind = {"compare": ComparedPairs, "ask": AskedPairs}.get(options.get("method", ""), AQAScore)
    return kind(backbone, templates, prompts=prompts, answers=options["answers"], server=runtime.server)


class AQAScore:
    """One reading per template, by its name; of several also their `mean` and `spread` (sample standard deviation)."""

    metric = "aqascore"
    # What names the method of a metric for pairs.
    method: Mapping[str, Any] = {}
    questions_per_template = 1

    def __init__(
        self,
        backbone: Backbone,
        templates: Mapping[str, str],
        *,
        prompts: Prompts,
        answers: str,
        server: ServerUse,
    ) -> None:
        self.limits = server.batch_limits(
            BatchLimits(examples=16, seconds=480.0), requests=len(templates) * self.questions_per_template
        )
        self._backbone = backbone
        self._templates = templates
        self._system = prompts.system
        self._answers = ANSWERS[answers]
        self.identity: Mapping[str, Any] = {
            "metric": self.metric,
            "code": CODE,
            "backbone": dict(backbone.identity),
            "system": prompts.system,
            "templates": dict(templates),
            "prompt_set": prompts.identity,
            # Of several spellings those count that are one token for the backbone.
            "answers": {"yes": list(self._answers.yes), "no": list(self._answers.no)},
            **self.method,
        }

    def prepare(self, examples: Sequence[Example]) -> None:
        self._backbone.prepare([sound for example in examples for sound in example.sounds])

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        requests: list[tuple[int, list[Hearing]]] = []
        for example in examples:
            try:
                requests.append((example.key, self._hearings(example)))
            except ExampleError as error:
                outcomes.append(fault_outcome(example.key, error))
        hearings = [hearing for _, hearings in requests for hearing in hearings]
        answers = iter(self._backbone.answer_logprobs(hearings, system=self._system, answers=self._answers))
        return outcomes + [
            self._outcome(key, [next(answers) for _ in hearings]) for key, hearings in requests
        ]

    def _outcome(self, key: int, answers: Sequence[Sequence[YesNoLogProbs] | Exception]) -> Outcome:
        logprobs: list[YesNoLogProbs] = []
        for answer in answers:
            if isinstance(answer, Exception):
                return fault_outcome(key, answer)
            logprobs.extend(answer)
        return Outcome(key, with_ensemble(dict(zip(self._templates, self._readings(logprobs), strict=True))))

    def _questions(self, **texts: str) -> tuple[str, ...]:
        return tuple(fill(template, texts) for template in self._templates.values())

    def _hearings(self, example: Example) -> list[Hearing]:
        """The questions about the sound or sounds of an example."""
        check_single(example)
        return [Hearing(example.sounds, self._questions(text=example.texts[0]))]

    def _readings(self, logprobs: Sequence[YesNoLogProbs]) -> list[Reading]:
        """One per template, from the answers to all questions in their order."""
        return [
            Reading(yes_probability(one), {"yes": one.yes, "no": one.no}, _bounds(one.bounded))
            for one in logprobs
        ]


def yes_probability(logprobs: YesNoLogProbs) -> float:
    """The probability of yes against no. NaN stays NaN."""
    difference = logprobs.yes - logprobs.no
    if difference < 0:
        return math.exp(difference) / (1.0 + math.exp(difference))
    return 1.0 / (1.0 + math.exp(-difference))


def _bounds(names: Sequence[str]) -> dict[str, list[str]]:
    """As provenance: the probabilities of which only a bound is known."""
    return {"bounded": list(names)} if names else {}


def with_ensemble(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """With several templates, their mean and how far they lie apart (section 5.4)."""
    values = [reading.value for reading in readings.values()]
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return dict(readings)
    ensemble = {"mean": Reading(statistics.fmean(values)), "spread": Reading(statistics.stdev(values))}
    return {**readings, **ensemble}


# ── pairs: which of two sounds fits a text, or which of two texts a sound (paper, section 3 and A.7) ──


class ComparedPairs(AQAScore):
    """The difference of two scores, the first less the second. Its sign is the paper's Pref, in either direction."""

    metric = "aqascore-pairs"
    method = {"method": "compare", "prefers_first_above": 0.0}
    questions_per_template = 2

    def _hearings(self, example: Example) -> list[Hearing]:
        if is_sound_pair(example):
            return [Hearing((sound,), self._questions(text=example.texts[0])) for sound in example.sounds]
        first, second = (self._questions(text=text) for text in example.texts)
        return [Hearing(example.sounds, first + second)]

    def _readings(self, logprobs: Sequence[YesNoLogProbs]) -> list[Reading]:
        middle = len(logprobs) // 2
        return [_score_difference(*pair) for pair in zip(logprobs[:middle], logprobs[middle:], strict=True)]


class AskedPairs(AQAScore):
    """The probability that the first text is the better one of a sound, asked outright.

    Asked once, in the order of the candidates, as in the paper: a model's liking for the first place stays in the
    value. Scoring the pair again with its candidates exchanged shows how large it is.
    """

    metric = "aqascore-pairs"
    method = {"method": "ask", "prefers_first_above": 0.5}

    def _hearings(self, example: Example) -> list[Hearing]:
        if is_sound_pair(example):
            raise ExampleError(
                "no_text",
                "This pair has one text; asking compares two texts of one sound. Use method compare.",
            )
        return [Hearing(example.sounds, self._questions(text1=example.texts[0], text2=example.texts[1]))]


def _score_difference(first: YesNoLogProbs, second: YesNoLogProbs) -> Reading:
    values = {"first": yes_probability(first), "second": yes_probability(second)}
    bounded = [
        f"{which}.{answer}" for which, one in (("first", first), ("second", second)) for answer in one.bounded
    ]
    return Reading(values["first"] - values["second"], values, _bounds(bounded))
