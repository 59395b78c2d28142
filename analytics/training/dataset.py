"""What a model of a study learns from, and which part of it is only for its figures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analytics.data.questions import MeasuredQuestion, measured_questions
from analytics.data.votes import load_votes
from analytics.training import examples
from analytics.training.examples import TrainingExample
from annotation.models import Study
from scoring.models import Scorer
from scoring.training import splits
from scoring.training.catalogue import TrainingSignal, trainable
from scoring.training.contract import (
    ComparedPair,
    MusicVotes,
    RatedAnswer,
    RatedClip,
    Split,
    TrainingError,
)

GROUPS, SYSTEMS = "groups", "systems"
# Held-out raters tell how a model does for people it has not met. Of fewer people every one is needed.
_FEWEST_RATERS = 5
# ORCA's 8:1:1 leaves nothing to test on where there are few groups.
_MANY_GROUPS = 100
_FEW = splits.Shares(3, 1, 1)
_FEWEST_GROUPS = 3


@dataclass(frozen=True)
class TrainingData:
    """All that people said of what a kind of model can learn, and what scorers said that it learns from first."""

    kind: str
    judged: Sequence[TrainingExample]
    pseudo: Sequence[TrainingExample] = ()


@dataclass(frozen=True)
class TrainingSplit:
    """One split: `learning` is what the training is given, without what the held-out raters said; `test` has the votes
    of everybody. `first`: what is learned before from scorers, of nothing that is held out or chosen by."""

    learning: Any
    first: Sequence[Any]
    test: Sequence[TrainingExample]
    held_out_raters: frozenset[str]
    counts: Mapping[str, int]

    def sha256(self) -> str:
        """A hash of all that the model and its figures come from."""
        given = self.learning
        splits = (given.pairs, given.rated) if isinstance(given, MusicVotes) else (given,)
        learned = [part for split in splits for part in (split.train, split.dev, split.test)]
        tested = [one.thing for one in self.test]
        found = [examples.examples_sha256(things) for things in (*learned, self.first, tested)]
        return hashlib.sha256("\n".join([*found, *sorted(self.held_out_raters)]).encode()).hexdigest()


def learnable(study: Study, kind: str, *, language: str = "en") -> list[MeasuredQuestion]:
    """The questions of a study that a kind of model can learn from, a model of ratings from one of them; none where it
    cannot. Titles are in the language, where the protocol has it."""
    asked = measured_questions(study, language=language)
    if trainable(kind).learns is TrainingSignal.RATINGS:
        return [one for one in asked if not one.is_preference and _is_of_one(one)]
    return [one for one in asked if one.is_preference or _is_of_one(one)]


def training_data(study: Study, kind: str, *, question: str = "", pseudo: Sequence[str] = ()) -> TrainingData:
    """By a few queries. `question`: the key of that which a model of ratings learns; else the first. `pseudo` are
    digests of scorers. Raises TrainingError where there is nothing to learn from."""
    asked = learnable(study, kind)
    if trainable(kind).learns is TrainingSignal.RATINGS:
        asked = [one for one in asked if question in ("", one.key)][:1]
        found = examples.rated_answer_examples(study, load_votes(asked[0])) if asked else []
    else:
        found = examples.music_examples(study, [load_votes(one) for one in asked])
    found = [one for one in found if one.n_votes]
    if not found:
        what = (
            "rated answers in words" if trainable(kind).learns is TrainingSignal.RATINGS else "judged clips"
        )
        raise TrainingError(
            "too_few", f"This study has no {what} with votes, which {kind} learns from. Collect votes first."
        )
    apart = [
        replace(one, thing=replace(one.thing, key=f"{one.thing.key} {scorer.digest}"))
        for scorer in Scorer.objects.filter(digest__in=pseudo)
        for one in _scored(study, kind, scorer)
    ]
    if not apart:
        return TrainingData(kind, found)
    # Together, for a prompt that nobody voted on may tie two together that people did vote on.
    keys = {one.thing.key for one in found}
    both = examples.group_examples([*found, *apart])
    judged = [one for one in both if one.thing.key in keys]
    return TrainingData(kind, judged, [one for one in both if one.thing.key not in keys])


def _scored(study: Study, kind: str, scorer: Scorer) -> list[TrainingExample]:
    if trainable(kind).learns is TrainingSignal.RATINGS:
        return examples.pseudo_labelled_answers(study, scorer)
    return examples.pseudo_labelled_pairs(study, scorer)


def split_examples(found: TrainingData, plan: Mapping[str, Any], *, seed: int) -> TrainingSplit:
    """One split of it. Raises TrainingError where nothing can be held out that was not learned from."""
    out = _held_out_raters(found, plan)
    if plan["split"] == SYSTEMS:
        split = _by_system(found, seed)
    else:
        _refuse_one_group(found)
        split = _by_group(found, seed)
    left = Split(*(_left(part, out) for part in (split.train, split.dev, split.test)))
    learning: Any = _examples(left, RatedAnswer)
    if trainable(found.kind).learns is TrainingSignal.PREFERENCES:
        learning = MusicVotes(pairs=_examples(left, ComparedPair), rated=_examples(left, RatedClip))
    if plan["split"] == GROUPS:
        _refuse_leaks(learning)
    first = _first(found, plan, split, seed)
    return TrainingSplit(
        learning, first, split.test, out, _counts(found, left, split.test) | {"first": len(first)}
    )


def _first(
    found: TrainingData, plan: Mapping[str, Any], split: Split[TrainingExample], seed: int
) -> list[Any]:
    """Held-out systems share items with those that are learned from: there only what has one of them is left out."""
    groups, out = {one.thing.group for one in split.dev}, set[str]()
    if plan["split"] == SYSTEMS:
        out = set(systems_held_out(found, seed=seed))
    else:
        groups |= {one.thing.group for one in split.test}
    things = [one.thing for one in found.pseudo if one.thing.group not in groups]
    return [thing for thing in things if not out & set(_systems_of(thing))]


def n_splits(found: TrainingData, plan: Mapping[str, Any]) -> int:
    """How many splits there are: as many as wanted, and with held-out systems as many as the systems allow."""
    if plan["split"] != SYSTEMS:
        return int(plan["repeats"])
    return min(int(plan["repeats"]), len(splits.held_out_systems(_systems(found), seed=0)))


def systems_held_out(found: TrainingData, *, seed: int) -> tuple[str, ...]:
    """Where systems are held out: which, in the split of this seed."""
    return splits.held_out_systems(_systems(found), seed=0)[seed]


def _is_of_one(question: MeasuredQuestion) -> bool:
    return bool(question.level) and (question.per_candidate or question.one_candidate)


def _held_out_raters(found: TrainingData, plan: Mapping[str, Any]) -> frozenset[str]:
    """The same in every split, so that versions can be compared by the same people."""
    names = examples.raters_of(found.judged)
    if len(names) < _FEWEST_RATERS:
        return frozenset()
    return splits.held_out_raters(names, share=plan["holdout_raters"], seed=0)


def _refuse_one_group(found: TrainingData) -> None:
    groups = len({one.thing.group for one in found.judged})
    if groups < _FEWEST_GROUPS:
        raise TrainingError(
            "leak",
            f"The {len(found.judged):,} judged units hang together in {groups} {'group' if groups == 1 else 'groups'}, "
            f"by prompts, questions or clips that they share, and {_FEWEST_GROUPS} are needed: whatever is held out "
            "would have been learned from. Add items with prompts and clips of their own, or hold out systems instead.",
        )


def _by_group(found: TrainingData, seed: int) -> Split[TrainingExample]:
    many = len({one.thing.group for one in found.judged}) >= _MANY_GROUPS
    things = [one.thing for one in found.judged]
    return _judged(found, splits.split_by_group(things, seed=seed, shares=splits.Shares() if many else _FEW))


def _by_system(found: TrainingData, seed: int) -> Split[TrainingExample]:
    out = systems_held_out(found, seed=seed)
    things = [one.thing for one in found.judged]
    return _judged(found, splits.split_by_system(things, out, systems=_systems_of, seed=seed))


def _judged(found: TrainingData, split: Split[Any]) -> Split[TrainingExample]:
    by_key = {one.thing.key: one for one in found.judged}
    return Split(*([by_key[thing.key] for thing in part] for part in (split.train, split.dev, split.test)))


def _systems(found: TrainingData) -> set[str]:
    return {name for one in found.judged for name in _systems_of(one.thing)}


def _systems_of(thing: Any) -> tuple[str, ...]:
    return thing.systems if isinstance(thing, ComparedPair) else (thing.system,)


def _left(judged: Sequence[TrainingExample], without: frozenset[str]) -> list[TrainingExample]:
    """What a training sees: nothing that nobody is left to have said something of."""
    return [one for one in (each.without(without) for each in judged) if one.n_votes]


def _examples(split: Split[TrainingExample], of: type) -> Split[Any]:
    parts = (split.train, split.dev, split.test)
    return Split(*([one.thing for one in part if isinstance(one.thing, of)] for part in parts))


def _refuse_leaks(learning: Any) -> None:
    if isinstance(learning, MusicVotes):
        splits.refuse_leakage(learning.pairs, splits.PAIR_LEAKAGE_KEYS)
        splits.refuse_leakage(learning.rated, splits.CLIP_LEAKAGE_KEYS)
    else:
        splits.refuse_leakage(learning, splits.ANSWER_LEAKAGE_KEYS)


def _counts(
    found: TrainingData, left: Split[TrainingExample], test: Sequence[TrainingExample]
) -> dict[str, int]:
    return {
        "units": len(found.judged),
        "votes": sum(one.n_votes for one in found.judged),
        "groups": len({one.thing.group for one in found.judged}),
        "raters": len(examples.raters_of(found.judged)),
        "train_units": len(left.train),
        "dev_units": len(left.dev),
        "test_units": len(test),
        "train_votes": sum(one.n_votes for one in left.train),
        "dev_votes": sum(one.n_votes for one in left.dev),
        "test_votes": sum(one.n_votes for one in test),
    }
