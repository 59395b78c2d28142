"""From judged tasks to rows, each with the table and the split it goes to. Reads the tasks twice: who belongs together
and whom to trust is known only once all have been seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from analytics.training_sets import grouping, reliability
from analytics.training_sets.contract import BOTH_BAD, TIE, Format, Judged, Making, Question, Row
from analytics.training_sets.options import Options, TrainingSetError
from analytics.training_sets.reliability import VotesOfQuestion

WHOLE = "default"  # the table of a format that has one in all


@dataclass
class Survey:
    """What all tasks together tell. `origins`: votes by where they come from. `weights`: raters' by question. `aside`:
    tasks outside the test split in which a held-out system has a part. `tasks_of`: by the key of an output that several
    other tasks judge, how many."""

    parts: Mapping[str, str]
    groups: int
    systems: tuple[str, ...]
    origins: Counter[str]
    weights: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    confidence: Mapping[str, float] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()
    tasks_of: Mapping[int, int] = field(default_factory=dict)


def tables(chosen: Format, questions: tuple[Question, ...]) -> dict[str, tuple[Question, ...]]:
    """By name, the questions that each table is made of."""
    if not chosen.per_question:
        return {WHOLE: questions}
    return {question.key: (question,) for question in questions}


def survey(tasks: Iterable[Judged], options: Options, questions: tuple[Question, ...]) -> Survey:
    """Raises TrainingSetError where there is nothing to make a set of, or nothing that can be split."""
    standings: list[grouping.Standing] = []
    systems: set[str] = set()
    origins: Counter[str] = Counter()
    outputs: list[tuple[int, ...]] = []
    held_out: set[str] = set()
    votes = {question.key: VotesOfQuestion() for question in questions if question.is_preference}
    keys = {question.key for question in questions}
    for judged in tasks:
        given = [(said, one) for said in judged.said for one in said.given if one.question in keys]
        # Feedback alone says something of an answer too, in ORCA's layout.
        if not given and not any(said.codes or said.comment for said in judged.said):
            continue
        number = len(standings)
        standings.append(grouping.standing(judged, options.groups))
        systems.update(output.system for output in judged.outputs)
        outputs.append(tuple(output.key for output in judged.outputs))
        if any(output.system in options.hold_out_systems for output in judged.outputs):
            held_out.add(judged.task)
        origins.update(said.origin for said in judged.said)
        for said, one in given:
            if one.choice is not None and one.question in votes:
                choice = TIE if one.choice == BOTH_BAD else one.choice
                votes[one.question].add(number, said.rater, choice, one.confidence)
    _refuse_nothing(standings, systems, options)
    parts = grouping.split(standings, options)
    groups = len(set(grouping.groups(standings).values()))
    train = [parts[one.key] == "train" for one in standings]
    aside = frozenset(task for task in held_out if parts[task] != "test")
    told = zip(standings, outputs, strict=True)
    tasks_of = Counter(key for one, keys in told if one.key not in aside for key in keys)
    learned = {key: own.only(train) for key, own in votes.items()}
    means = {key: own.mean_confidence for key, own in learned.items()}
    return Survey(
        parts,
        groups,
        tuple(sorted(systems)),
        origins,
        {key: reliability.weights(own) for key, own in learned.items()}
        if options.weights == "agreement"
        else {},
        {key: mean for key, mean in means.items() if mean is not None},
        aside,
        {key: n for key, n in tasks_of.items() if n > 1},
    )


def rows(
    tasks: Iterable[Judged], found: Survey, chosen: Format, making: Making, questions: tuple[Question, ...]
) -> Iterator[tuple[str, str, Row]]:
    """(table, split, row). Of held-out systems nothing comes into train and dev, nor what was said of another output
    beside one of theirs: it tells of both."""
    asked, alone = tables(chosen, questions), replace(making, tasks_of={})
    for judged in tasks:
        part = found.parts.get(judged.task)
        if part is None:
            continue
        making.part = alone.part = part
        aside = judged.task in found.aside
        for table, own in asked.items():
            for row in chosen.rows(judged, own, alone if aside else making):
                if aside:
                    making.left_out["rows of held-out systems outside the test split"] += 1
                else:
                    yield table, part, row


def making_of(options: Options, found: Survey) -> Making:
    return Making(
        options, found.systems, reliability.weigher(found.weights), found.confidence, found.tasks_of
    )


def _refuse_nothing(tasks: list[grouping.Standing], systems: set[str], options: Options) -> None:
    if not tasks:
        raise TrainingSetError(
            "too_few",
            f"Nothing here counts for a training set: no votes that are {' or '.join(options.votes)}, on "
            f"{options.texts} texts. Collect votes first, or ask for others (simulated votes are named as such).",
        )
    if unknown := sorted(set(options.hold_out_systems) - systems):
        raise TrainingSetError(
            "bad_systems",
            f"{', '.join(unknown)} made nothing that was judged. Use {', '.join(sorted(systems))}.",
        )
    if options.hold_out_systems and not options.ratios[2]:
        raise TrainingSetError("bad_ratios", "Systems that are held out are tested on: give test a share.")
