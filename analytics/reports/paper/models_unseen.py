"""What a scorer that was trained on votes of the very study has not learned from: the only honest test of it here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics.reports.learned.held_out import held_out_by_all
from analytics.statistics.distinct_rows import IntArray
from analytics.vote_frames import BoolArray
from annotation.models import Candidate, Study
from scoring.models import LearnedModel
from scoring.services import learned


@dataclass(frozen=True, eq=False)
class Unseen:
    """candidates: database ids, of items that were held out. own: those by systems that were held out, where these were
    and not items; a pair with one of them was not learned from. None where items alone decide."""

    candidates: frozenset[int]
    own: frozenset[int] | None = None

    def single(self, candidates: IntArray) -> BoolArray:
        return _among(candidates, self.candidates if self.own is None else self.candidates & self.own)

    def pairs(self, first: IntArray, second: IntArray) -> BoolArray:
        held = _among(first, self.candidates) & _among(second, self.candidates)
        return held if self.own is None else held & (_among(first, self.own) | _among(second, self.own))


def unseen_by(study: Study) -> dict[int, Unseen]:
    """By the database id of each scorer that was trained on this study's votes, with whatever options it is opened."""
    trained = learned.versions_by_scorer(study)
    return {scorer: _unseen(study, models) for scorer, models in trained.items()}


def _unseen(study: Study, models: Sequence[LearnedModel]) -> Unseen:
    """By all of several trainings that came to the same model."""
    held = held_out_by_all(models)
    made = Candidate.objects.filter(item_version__item__study=study, item_version__item__in=held.items)
    rows = list(made.values_list("pk", "system__name"))
    systems = frozenset.intersection(*held.systems) if held.systems else None
    own = None if systems is None else frozenset(pk for pk, system in rows if system in systems)
    return Unseen(frozenset(pk for pk, _ in rows), own)


def _among(candidates: IntArray, wanted: frozenset[int]) -> BoolArray:
    return np.isin(candidates, np.fromiter(wanted, dtype=np.int64, count=len(wanted)))
