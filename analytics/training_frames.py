"""The door from a study's votes to what models learn from: rated answers, and compared or rated clips.

Votes as every figure counts them (standing, not excluded, no rater's second answer to a unit), on whatever version of
an item they were given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from analytics.questions import MeasuredQuestion
from analytics.training_things import Judged, answer_of, candidates_of, clip_of, grouped, pair_of
from analytics.vote_frames import NOBODY, Votes
from annotation.models import Answer, Study
from scoring.training.contract import PairVote
from scoring.training.heads import heads_of

_FIRST = {Answer.Choice.FIRST: 1.0, Answer.Choice.SECOND: 0.0}
_LEAST, _MOST = 1.0, 5.0


def rated_answers(study: Study, votes: Votes) -> list[Judged]:
    """Answers in words, empty ones among them, and their ratings, brought from the question's scale to 1 to 5."""
    votes = votes.counted()
    shown = candidates_of(study, set(votes.units.candidate.tolist()))
    found = []
    for unit, rows in _by_unit(votes):
        candidate = shown.get(int(votes.units.candidate[unit]))
        if candidate is None or not candidate.is_words:
            continue
        ratings = tuple(_as_one_to_five(votes.value[rows], votes.question).tolist())
        found.append(answer_of(candidate, ratings, _names(votes, rows)))
    return grouped(found)


def judged_music(study: Study, votes: Sequence[Votes]) -> list[Judged]:
    """Pairs of clips with the votes on them, and clips with their ratings, which are brought from each question's scale
    to 1 to 5. By head, as `heads_of` has the questions of each kind."""
    preferences = [said for said in votes if said.question.is_preference]
    ratings = [said for said in votes if not said.question.is_preference]
    return grouped([*_compared_pairs(study, preferences), *_rated_clips(study, ratings)])


def _compared_pairs(study: Study, votes: Sequence[Votes]) -> Iterable[Judged]:
    found: dict[tuple[int, int], Judged] = {}
    for head, said in _by_head(votes):
        units = said.units
        shown = candidates_of(study, {*units.candidate.tolist(), *units.other.tolist()})
        for unit, rows in _by_unit(said):
            pair = (int(units.candidate[unit]), int(units.other[unit]))
            first, second = shown.get(pair[0]), shown.get(pair[1])
            if not (first and second and first.clip and second.clip):
                continue
            judged = found.get(pair) or pair_of(first, second)
            given = _pair_votes(said, rows)
            found[pair] = replace(
                judged,
                thing=replace(judged.thing, votes={**judged.thing.votes, head: given}),
                raters={**judged.raters, head: _names(said, rows)},
            )
    return found.values()


def _rated_clips(study: Study, votes: Sequence[Votes]) -> Iterable[Judged]:
    found: dict[int, Judged] = {}
    for head, said in _by_head(votes):
        shown = candidates_of(study, set(said.units.candidate.tolist()))
        for unit, rows in _by_unit(said):
            candidate = shown.get(int(said.units.candidate[unit]))
            if candidate is None or candidate.clip is None:
                continue
            judged = found.get(candidate.pk) or clip_of(candidate)
            ratings = tuple(_as_one_to_five(said.value[rows], said.question).tolist())
            found[candidate.pk] = replace(
                judged,
                thing=replace(judged.thing, ratings={**judged.thing.ratings, head: ratings}),
                raters={**judged.raters, head: _names(said, rows)},
            )
    return found.values()


def _by_head(votes: Sequence[Votes]) -> list[tuple[str, Votes]]:
    """The votes that each head learns from, of questions of one kind."""
    asked = {said.question.key: said for said in votes}
    return [(head, asked[key].counted()) for key, head in heads_of(list(asked)).items()]


def _by_unit(votes: Votes) -> Iterable[tuple[int, np.ndarray[Any, Any]]]:
    order = np.argsort(votes.unit, kind="stable")
    units, starts = np.unique(votes.unit[order], return_index=True)
    return zip(units.tolist(), np.split(order, starts[1:]), strict=True) if len(units) else []


def _pair_votes(votes: Votes, rows: np.ndarray[Any, Any]) -> tuple[PairVote, ...]:
    return tuple(
        PairVote(_FIRST.get(Answer.Choice(int(value)), 0.5), None if np.isnan(sure) else float(sure))
        for value, sure in zip(votes.value[rows], votes.confidence[rows], strict=True)
    )


def _names(votes: Votes, rows: np.ndarray[Any, Any]) -> tuple[str, ...]:
    return tuple("" if rater == NOBODY else votes.raters[rater] for rater in votes.rater[rows].tolist())


def _as_one_to_five(values: np.ndarray[Any, Any], question: MeasuredQuestion) -> np.ndarray[Any, Any]:
    """Linearly, from the ends of the scale; on a scale without ends as they are, which a training refuses."""
    if question.width is None or not question.points:
        return values
    return _LEAST + (values - min(question.points)) / question.width * (_MOST - _LEAST)
