"""Predictions of a scorer: the expected rating of a candidate, or the probability that one of two is preferred.

Only what a scorer's kind promises is taken for either. A score without a scale says nothing of the sort by itself.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from annotation.models import Study
from annotation.protocols import Protocol, QuestionSpec
from annotation.rating.rules import hints
from scoring import learned
from scoring.metrics import registry
from scoring.metrics.contract import USUAL_OUTPUTS
from scoring.metrics.registry import Reads
from scoring.models import Scorer, ScoringRun
from scoring.training.contract import heads_by_question

# Scores from 0 to 1, from the worst answer to the best. What others give depends on what they were asked for.
_ON_KNOWN_SCALE = frozenset({"aqascore", "aura", "llm-judge", "llm-judge-audio", "orca"})
# The difference between two candidates' scores is the log-odds that people prefer the first (Bradley & Terry, 1952);
# each output is a head, and about the question that such a head learns from.
LOG_ODDS_SCORERS = frozenset({"cmi-rm"})
# Where a scorer of pairs prefers neither, unless its identity says otherwise.
EVEN_PROBABILITY = 0.5

# By candidate and, for scorers of pairs, the other one (0 for none): the value of each output.
ScoreValues = Mapping[tuple[int, int], Mapping[str, float]]


def compares(protocol: Protocol, spec: QuestionSpec) -> bool:
    """Whether a question's votes can be held against scores of pairs, or differences of scores."""
    return spec.kind == "preference" and bool(spec.level) and protocol.candidates == (2, 2)


def rates(protocol: Protocol, spec: QuestionSpec) -> bool:
    """Whether a question's ratings can be held against scores of single candidates."""
    of_one = spec.per_candidate or protocol.candidates == (1, 1)
    return spec.kind in ("rating", "correctness") and spec.level not in ("", "nominal") and of_one


def reads_pairs(key: str) -> bool:
    entry = registry.METRICS.get(key)
    return entry is not None and entry.reads is Reads.PAIR


def has_known_scale(scorer: Scorer) -> bool:
    """Whether its scores go from 0 to 1, from the worst answer to the best."""
    # AURA's without normalisation go from -w to 1 + w.
    combination = scorer.config.get("combination", {})
    return scorer.key in _ON_KNOWN_SCALE and combination.get("normalisation") != "none"


def preference_threshold(scorer: Scorer) -> float:
    """Above it a scorer of pairs prefers the first."""
    return float(scorer.config.get("prefers_first_above", EVEN_PROBABILITY))


def study_scorer(study: Study, name: str) -> Scorer | None:
    """The version of a scorer that counts in a study, by the scorer's name or a version's digest: of a name, the model
    that was made the study's scorer; else what the study was scored by last."""
    scorer = learned.promoted_scorer(study, name) if name else None
    if scorer is not None:
        return scorer
    runs = (
        ScoringRun.objects.filter(study=study, scorer__isnull=False).select_related("scorer").order_by("-pk")
    )
    run = runs.filter(scorer__key=name).first() or runs.filter(scorer__digest=name).first()
    if run is not None:
        return run.scorer
    # One that was trained here has scored what it did not learn from, without a run.
    return Scorer.objects.filter(digest=name, learned_models__study=study).first()


@dataclass(frozen=True)
class Predictor:
    """A scorer as far as it can speak of a protocol's questions; of ratings by `only` this one, where it is given."""

    scorer: Scorer
    protocol: Protocol
    only: str = ""

    @property
    def questions(self) -> list[QuestionSpec]:
        """The questions that it can predict, once there are scores."""
        return [spec for spec in hints.eligible_questions(self.protocol) if self._covers(spec)]

    def predict(self, slots: Sequence[int], values: ScoreValues) -> dict[str, float | list[float | None]]:
        """The predictions for a task with these candidates, by question, as `annotation.rating.rules.hints` stores
        them; none for a question whose scores are missing."""
        predictions: dict[str, float | list[float | None]] = {}
        for spec in self.questions:
            prediction = self._prediction(spec, slots, values)
            if prediction is not None:
                predictions[spec.key] = prediction
        return predictions

    def _covers(self, spec: QuestionSpec) -> bool:
        key = self.scorer.key
        if spec.kind == "preference":
            return reads_pairs(key) or (key in LOG_ODDS_SCORERS and spec.key in self._heads)
        return has_known_scale(self.scorer) and self.only in ("", spec.key)

    @property
    def _heads(self) -> dict[str, str]:
        return heads_by_question([spec.key for spec in self.protocol.questions if spec.kind == "preference"])

    def _prediction(
        self, spec: QuestionSpec, slots: Sequence[int], values: ScoreValues
    ) -> float | list[float | None] | None:
        if spec.kind != "preference":
            ratings = [self._rating(spec, values.get((slot, 0), {})) for slot in slots]
            if not spec.per_candidate:
                return ratings[0]
            return ratings if any(one is not None for one in ratings) else None
        first, second = slots
        if not reads_pairs(self.scorer.key):
            one, other = (values.get((slot, 0), {}).get(self._heads[spec.key]) for slot in slots)
            return None if one is None or other is None else sigmoid(one - other)
        ahead, behind = (
            self._preference_probability(spec, values.get(pair, {}))
            for pair in ((first, second), (second, first))
        )
        return ahead if ahead is not None else None if behind is None else 1 - behind

    def _rating(self, spec: QuestionSpec, outputs: Mapping[str, float]) -> float | None:
        ends, name = hints.scale(spec), output_of_question(spec.key, outputs)
        if ends is None or name is None:
            return None
        return ends[0] + min(1.0, max(0.0, outputs[name])) * (ends[1] - ends[0])

    def _preference_probability(self, spec: QuestionSpec, outputs: Mapping[str, float]) -> float | None:
        """The probability that the first is preferred: the value itself where one half is the middle of it, else from
        the difference as log-odds."""
        name, middle = output_of_question(spec.key, outputs), preference_threshold(self.scorer)
        if name is None:
            return None
        return (
            min(1.0, max(0.0, outputs[name]))
            if middle == EVEN_PROBABILITY
            else sigmoid(outputs[name] - middle)
        )


def outputs_by_question(scorer: Scorer, questions: Sequence[str], outputs: Collection[str]) -> dict[str, str]:
    """By question, among those of one kind that a study asks, the output that is about it, where there is one."""
    if scorer.key in LOG_ODDS_SCORERS:
        by_question = heads_by_question(questions)
    else:
        by_question = {one: name for one in questions if (name := output_of_question(one, outputs))}
    return {question: name for question, name in by_question.items() if name in outputs}


def output_of_question(question: str, outputs: Collection[str]) -> str | None:
    """The output that is about a question: that of its name, or the usual one."""
    return next((name for name in (question, *USUAL_OUTPUTS) if name in outputs), None)


def sigmoid(log_odds: float) -> float:
    """Without overflow, and so that those of opposite log-odds add up to 1."""
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))
