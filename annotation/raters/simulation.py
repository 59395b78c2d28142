"""Simulated raters of known reliability who vote on a study with known ground truth, as raters do.

They lease tasks in the study's order and submit answers. Their judgments have the origin `simulated` and differ in
three ways: they carry no listening telemetry, no time is measured, and no model hint is shown, so that they do not
count in a study of hints.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from django.db import transaction

from annotation.demo import raters, write
from annotation.demo.raters import Ballot, Rater
from annotation.errors import Conflict, InvalidInput
from annotation.listening.rules.checks import CheckRules
from annotation.models import Rater as models_Rater
from annotation.models import Study, Task, TaskCandidate, User
from annotation.models.people import Role
from annotation.protocols import Protocol
from annotation.rating import judgments, leases
from annotation.rating import overlap as rating_overlap
from annotation.rating.judgments import Submission
from annotation.rating.leases import Lease
from annotation.studies import audit, members, studies
from annotation.studies.protocols import load_protocol

# Enough names to see what is meant.
_EXAMPLES = 3


# The vote of a rater by what is true of a task. `shown`: the slots in the order shown.
Truth = Callable[..., Ballot]


class _Slot(NamedTuple):
    item: str
    prompt: str
    system: str
    text: str


class KnownTask(NamedTuple):
    name: str
    ballot: Truth


def tasks_with_known_truth(study: Study) -> dict[int, KnownTask]:
    """Every task that raters may get, by id. Raises InvalidInput where the truth of one that wants judgments is
    unknown, or the study asks what simulated raters could not answer."""
    ready = Task.objects.filter(study=study, state=Task.State.READY)
    tasks = {pk: (name, open_) for pk, name, open_ in ready.values_list("pk", "external_id", "wants_more")}
    protocol = load_protocol(study.protocol_version_id).spec
    truths = _truths(study, protocol)
    unknown = sorted(name for pk, (name, open_) in tasks.items() if open_ and pk not in truths)
    if unknown or not truths:
        raise InvalidInput(_truth_unknown_message(unknown), code="truth_unknown")
    known_questions = raters.COMPARED if protocol.layout == "comparison" else raters.RATED
    if foreign := raters.foreign_questions(protocol, known=known_questions):
        text = f"Simulated raters cannot answer {', '.join(foreign)}; make it optional, or use the demo's protocol."
        raise InvalidInput(text, code="foreign_question")
    return {pk: KnownTask(name, truths[pk]) for pk, (name, _) in tasks.items() if pk in truths}


def _truth_unknown_message(names: Sequence[str]) -> str:
    more = f", and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    listed = f" Nothing is known of these tasks, which want judgments: {'; '.join(names[:_EXAMPLES])}{more}."
    return (
        "Simulated raters vote by what is known to be true, which is so of the demo's own items only, as they were "
        f"imported.{listed if names else ''}"
    )


def _truths(study: Study, protocol: Protocol) -> dict[int, Truth]:
    rows = TaskCandidate.objects.filter(task__study=study, task__state=Task.State.READY)
    slots: dict[int, list[_Slot]] = {}
    for pk, *slot in rows.order_by("task_id", "slot").values_list(
        "task_id", "task__item_version__item__external_id", "task__item_version__prompt",
        "candidate__system__name", "candidate__text",
    ):  # fmt: skip
        slots.setdefault(pk, []).append(_Slot(*slot))
    truth_of = _comparison_truth if protocol.layout == "comparison" else _answer_truth
    truths = {pk: truth_of(shown) for pk, shown in slots.items()}
    return {pk: truth for pk, truth in truths.items() if truth is not None}


def _comparison_truth(slots: Sequence[_Slot]) -> Truth | None:
    """By what is wrong with the two clips of a task, by slot."""
    outcomes = [write.outcome(slot.item, prompt=slot.prompt, system=slot.system) for slot in slots]
    known = [outcome for outcome in outcomes if outcome is not None]
    if not len(known) == len(outcomes) == 2:
        return None

    def ballot(rater: Rater, *, shown: Sequence[int], protocol: Protocol, rng: np.random.Generator) -> Ballot:
        first, second = (known[slot] for slot in shown)
        return raters.compare(rater, first, second, protocol=protocol, rng=rng)

    return ballot


def _answer_truth(slots: Sequence[_Slot]) -> Truth | None:
    """By which of a question's answers a task shows."""
    answer = write.answer(slots[0].item, text=slots[0].text) if len(slots) == 1 else None
    if answer is None:
        return None

    def ballot(rater: Rater, *, shown: Sequence[int], protocol: Protocol, rng: np.random.Generator) -> Ballot:
        return raters.judge(rater, *answer, protocol=protocol, rng=rng)

    return ballot


MAX_RATERS = 1000
MAX_VOTES_PER_TASK = 1000
_REPORT_EVERY = 25

OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class SimulationOptions:
    """What to simulate. `votes` ends it early; `overlap` is what tasks are to want at least, if anything else than
    they do."""

    raters: int
    seed: int = 1
    votes: int | None = None
    overlap: int | None = None


@dataclass(frozen=True)
class SimulationResult:
    """What was done: votes given now, raters new to the study, and the places that are still open."""

    votes: int
    new_raters: int
    open_places: int


class _SimulatedRater(NamedTuple):
    """A simulated rater and the account through which they come in."""

    rater: raters.Rater
    user: User


def simulate_votes(
    study: Study, options: SimulationOptions, *, progress: OnProgress = lambda votes: None
) -> SimulationResult:
    """Let the raters join and vote until no task wants more of them, or `votes` are given. To be repeated: it goes on
    where it stopped. Refuses, and changes nothing, what cannot be simulated."""
    _check_options(study, options)
    tasks = tasks_with_known_truth(study)
    with transaction.atomic():
        if options.overlap is not None:
            _raise_overlap(study, options.overlap)
        seats, new = _join_raters(study, options)
    n_votes = 0
    for n_votes in _vote_in_rounds(study, seats, tasks, options):
        if n_votes % _REPORT_EVERY == 0:
            progress(n_votes)
    audit.record(
        "votes.simulated", actor=None, study=study, raters=options.raters, seed=options.seed, votes=n_votes
    )
    return SimulationResult(n_votes, new, _open_places(study))


def _check_options(study: Study, options: SimulationOptions) -> None:
    if not 1 <= options.raters <= MAX_RATERS:
        raise InvalidInput(f"Simulate 1 to {MAX_RATERS} raters.", code="bad_raters")
    if options.seed < 0:
        raise InvalidInput("A seed is 0 or more.", code="bad_seed")
    if options.votes is not None and options.votes < 1:
        raise InvalidInput("Ask for 1 vote or more.", code="bad_votes")
    if options.overlap is not None and not 1 <= options.overlap <= MAX_VOTES_PER_TASK:
        raise InvalidInput(f"An overlap is 1 to {MAX_VOTES_PER_TASK}.", code="bad_overlap")
    if study.state != Study.State.RUNNING:
        state = Study.State(study.state).label
        raise Conflict(f"This study is not open for rating now (state: {state}).", code="study_not_running")
    if CheckRules.of(study.rules).require:
        raise Conflict(
            "This study asks its raters for listening checks, which nobody can take who hears nothing; switch them off "
            "to simulate votes.",
            code="checks_required",
        )


def _raise_overlap(study: Study, overlap: int) -> None:
    """Let every task take at least so many judgments, those that come later too. Nothing is taken back."""
    if study.overlap < overlap:
        studies.change_study(study, actor=None, overlap=overlap)
    short = Task.objects.filter(study=study, state=Task.State.READY, overlap__lt=overlap)
    rating_overlap.change_overlap(
        study, {pk: overlap - current for pk, current in short.values_list("pk", "overlap")}
    )


def _join_raters(study: Study, options: SimulationOptions) -> tuple[list[_SimulatedRater], int]:
    drawn = [raters.draw_rater(number, seed=options.seed) for number in range(1, options.raters + 1)]
    existing = set(
        models_Rater.objects.filter(study=study, user__isnull=False).values_list("external_id", flat=True)
    )
    seats = [_SimulatedRater(rater, _account(rater.name)) for rater in drawn]
    new = [seat for seat in seats if seat.rater.name not in existing]
    for seat in new:
        members.add_member(study, seat.user, role=Role.ANNOTATOR, actor=None)
        models_Rater.objects.filter(study=study, user=seat.user).update(
            origin=models_Rater.Origin.SIMULATED, external_id=seat.rater.name
        )
    return seats, len(new)


def _account(name: str) -> User:
    """An account to which nobody can sign in."""
    email = f"{name}@simulated.invalid"
    account = User.objects.filter(email=email).first()
    return account or User.objects.create_user(email, name=name, is_active=False)


def _vote_in_rounds(
    study: Study, seats: Sequence[_SimulatedRater], tasks: dict[int, KnownTask], options: SimulationOptions
) -> Iterator[int]:
    """Rounds in which everybody votes once, in a new order each time; who finds no task goes home. Yields the number
    of votes so far."""
    rng = np.random.default_rng([options.seed, 0])
    voters, n_votes = list(seats), 0
    while voters and n_votes != options.votes:
        still_voting = []
        for seat in (voters[int(i)] for i in rng.permutation(len(voters))):
            _, lease = leases.lease_next(seat.user, study.slug)
            if lease is None:
                continue
            _submit(seat, lease, _known_task(tasks, lease), seed=options.seed)
            still_voting.append(seat)
            n_votes += 1
            yield n_votes
            if n_votes == options.votes:
                return
        voters = still_voting


def _known_task(tasks: dict[int, KnownTask], lease: Lease) -> KnownTask:
    if lease.task_id not in tasks:  # it came, or came back, after the others were looked at
        task = Task.objects.select_related("study").get(pk=lease.task_id)
        tasks.update(tasks_with_known_truth(task.study))
    return tasks[lease.task_id]


def _submit(seat: _SimulatedRater, lease: Lease, task: KnownTask, *, seed: int) -> None:
    """A vote depends on the seed, the rater, the task and the sides as shown, and on nothing that came before."""
    rng = np.random.default_rng([seed, *f"{seat.rater.name}/{task.name}".encode()])
    protocol = load_protocol(lease.protocol_version_id).spec
    ballot = task.ballot(seat.rater, shown=lease.presentation, protocol=protocol, rng=rng)
    submission = Submission(uuid.uuid4(), ballot.answers, ballot.codes, ballot.comment)
    judgments.submit(seat.user, lease.id, submission)


def _open_places(study: Study) -> int:
    waiting = Task.objects.filter(study=study, wants_more=True).values_list(
        "overlap", "n_judgments", "n_leases"
    )
    return sum(overlap - judged - leased for overlap, judged, leased in waiting)
