"""The scores that a report holds against people: one output of one scorer version, looked up by what people judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Exists, OuterRef

from analytics import score_frames
from analytics.questions import MeasuredQuestion
from analytics.reports.benchmark_results import DEFAULT_OUTPUT, ENSEMBLE_MEAN, ENSEMBLE_SPREAD
from analytics.reports.paper.models_unseen import Unseen, unseen_by
from analytics.statistics.distinct_rows import FloatArray, IntArray
from annotation.models import Study
from scoring.metrics import registry
from scoring.metrics.entries import Reads
from scoring.models import Score, Scorer

# The outputs of a scorer that judges music twice: how well it follows the instruction, and how good it is.
HEADS = ("musicality", "alignment")
# What a scorer expects the ratings of one candidate to vary by, on a scale from 0 to 1: not a score.
VARIANCE = "variance"
# Where a scorer of pairs prefers neither, unless its identity says otherwise.
_EVEN = 0.5


@dataclass(frozen=True, eq=False)
class Contender:
    """One output of one scorer version.

    even: None for a scorer of single candidates; of a scorer of pairs, the value at which it prefers neither.
    scores: by candidate and, for pairs, the candidate that came to the study later; else 0. No infinities.
    unseen: of a scorer that was trained on this study's votes, what it has not learned from. Nothing else is told of
    it: of the rest, it has no score.
    """

    name: str
    scorer: Scorer
    output: str
    even: float | None
    scores: Mapping[tuple[int, int], float]
    unseen: Unseen | None = None

    def of(self, candidates: IntArray) -> FloatArray:
        """NaN where there is no score; all are for a scorer of pairs."""
        scores = self._of(candidates)
        return scores if self.unseen is None else np.where(self.unseen.single(candidates), scores, np.nan)

    def leads(self, first: IntArray, second: IntArray) -> FloatArray:
        """Above 0 where it prefers the first; NaN where there is no score."""
        leads = self._leads(first, second)
        return leads if self.unseen is None else np.where(self.unseen.pairs(first, second), leads, np.nan)

    def told(self) -> set[tuple[int, int]]:
        """Of which candidates, or pairs, its scores are held against people."""
        keys = np.array(list(self.scores), dtype=np.int64).reshape(-1, 2)
        if self.unseen is not None:
            one, other = keys.T
            keys = keys[self.unseen.single(one) if self.even is None else self.unseen.pairs(one, other)]
        return {(one, other) for one, other in keys.tolist()}

    def _of(self, candidates: IntArray) -> FloatArray:
        return np.array([self.scores.get((one, 0), np.nan) for one in candidates.tolist()], dtype=np.float64)

    def _leads(self, first: IntArray, second: IntArray) -> FloatArray:
        if self.even is None:
            return np.asarray(self._of(first) - self._of(second))
        ahead, behind = self._over(first, second), self._over(second, first)
        return np.where(np.isnan(ahead), self.even - behind, ahead - self.even)

    def _over(self, one: IntArray, other: IntArray) -> FloatArray:
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        return np.array([self.scores.get(pair, np.nan) for pair in pairs], dtype=np.float64)

    def logits(self, leads: FloatArray) -> FloatArray:
        """Log-odds of the first. Of a scorer of pairs whose middle is 1/2, the value is the probability itself; of
        any other, the difference is taken for the log-odds, as in the Bradley-Terry model."""
        known = leads[np.isfinite(leads)]
        if self.even != _EVEN or np.abs(known).max(initial=0.0) > _EVEN:
            return leads
        # A certainty is taken for all but one in a million: a single mistake would cost infinitely much.
        p = np.clip(leads + _EVEN, 1e-6, 1 - 1e-6)
        return np.asarray(np.log(p) - np.log1p(-p))


@dataclass(frozen=True, eq=False)
class ScoredBy:
    """A scorer version with all its outputs."""

    scorer: Scorer
    contenders: tuple[Contender, ...]

    @property
    def title(self) -> str:
        entry = registry.METRICS.get(self.scorer.key)
        return self.scorer.key if entry is None else entry.title

    @property
    def n_scored(self) -> int:
        """How many candidates, or pairs of them, have any of its outputs."""
        return len({key for one in self.contenders for key in one.scores})

    @property
    def learned_here(self) -> bool:
        """Whether it was trained on votes of this study."""
        return any(one.unseen is not None for one in self.contenders)

    @property
    def n_told(self) -> int:
        """How many of what it scored it is held against people on: what it has not learned from."""
        return len({key for one in self.contenders for key in one.told()})

    def output(self, name: str) -> Contender | None:
        return next((one for one in self.contenders if one.output == name), None)

    def heads(self) -> tuple[Contender, Contender] | None:
        """Musicality and alignment, of a scorer that has both."""
        musicality, alignment = (self.output(name) for name in HEADS)
        return None if musicality is None or alignment is None else (musicality, alignment)

    def for_question(self, question: MeasuredQuestion) -> Sequence[Contender]:
        """The output of the question's name, or both heads, or the usual one: the default question's where a scorer
        asks several, their mean, or the first."""
        if own := self.output(question.key):
            return [own]
        if heads := self.heads():
            return heads
        scores = [one for one in self.contenders if one.output not in (ENSEMBLE_SPREAD, VARIANCE)]
        preferred = sorted(scores, key=lambda one: (_USUAL.get(one.output, len(_USUAL)), one.output))
        return preferred[:1]


_USUAL = {DEFAULT_OUTPUT: 0, "value": 1, ENSEMBLE_MEAN: 2}


def scored_by(study: Study) -> list[ScoredBy]:
    """Every scorer version with a score in this study, by name and digest."""
    own = Score.objects.filter(scorer=OuterRef("pk"), candidate__item_version__item__study=study)
    scorers = Scorer.objects.filter(Exists(own)).order_by("key", "digest")
    unseen = unseen_by(study)
    return [scores_of(study, scorer, unseen=unseen.get(scorer.pk)) for scorer in scorers]


def scores_of(study: Study, scorer: Scorer, *, name: str = "", unseen: Unseen | None = None) -> ScoredBy:
    """`name`: what tables call it, instead of its key and digest. `unseen`: as `Contender` has it."""
    found = score_frames.scores(study, scorer)
    entry = registry.METRICS.get(scorer.key)
    pairs = bool(found.others.any()) or (entry is not None and entry.reads is Reads.PAIR)
    even = float(scorer.config.get("prefers_first_above", _EVEN)) if pairs else None
    keys = list(zip(found.candidates.tolist(), found.others.tolist(), strict=True))
    contenders = []
    for number, output in sorted(enumerate(found.outputs), key=lambda one: one[1]):
        column = found.values[:, number].tolist()
        scores = {key: value for key, value in zip(keys, column, strict=True) if np.isfinite(value)}
        called = name or str(scorer)
        label = f"{called}, {output}" if len(found.outputs) > 1 else called
        contenders.append(Contender(label, scorer, output, even, scores, unseen))
    return ScoredBy(scorer, tuple(contenders))
