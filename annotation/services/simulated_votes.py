"""Raters of known reliability who vote on a study of known truth, through the doors that raters use.

They lease tasks one after the other in the study's order and submit what they think. Three things set them apart, and
their judgments say so (`origin` simulated): nothing is played to them, so no listening is asked of them and none is
claimed; the time they take means nothing, so none is kept; and what a model says is not shown to them, so their votes
do not count among those that it was shown before or kept from.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.db import transaction

from annotation import audit
from annotation.demo import raters as known_raters
from annotation.errors import Conflict, InvalidInput
from annotation.models import Rater, Study, Task, User
from annotation.models.people import Role
from annotation.rules.listening_checks import CheckRules
from annotation.services import judgments, known_truth, leases, overlaps, people, studies
from annotation.services.judgments import Submission
from annotation.services.known_truth import KnownTask
from annotation.services.leases import Lease
from annotation.services.protocols import loaded

MOST_RATERS = 1000
MOST_VOTES_PER_TASK = 1000
_REPORT_EVERY = 25

OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class Order:
    """What to simulate. `votes` ends it early; `overlap` is what tasks are to want at least, if anything else than
    they do."""

    raters: int
    seed: int = 1
    votes: int | None = None
    overlap: int | None = None


@dataclass(frozen=True)
class Simulated:
    """What was done: votes given now, raters new to the study, and the places that are still open."""

    votes: int
    new_raters: int
    open_places: int


@dataclass(frozen=True)
class _Seat:
    """A simulated rater and the account through which they come in."""

    rater: known_raters.Rater
    user: User


def run(study: Study, order: Order, *, progress: OnProgress = lambda votes: None) -> Simulated:
    """Let the raters join and vote until no task wants more of them, or `votes` are given. To be repeated: it goes on
    where it stopped. Refuses, and changes nothing, what cannot be simulated."""
    _check(study, order)
    tasks = known_truth.tasks_of(study)
    with transaction.atomic():
        if order.overlap is not None:
            _raise_overlap(study, order.overlap)
        seats, new = _join(study, order)
    given = 0
    for given in _vote(study, seats, tasks, order):
        if given % _REPORT_EVERY == 0:
            progress(given)
    audit.record(
        "votes.simulated", actor=None, study=study, raters=order.raters, seed=order.seed, votes=given
    )
    return Simulated(given, new, _open_places(study))


def _check(study: Study, order: Order) -> None:
    if not 1 <= order.raters <= MOST_RATERS:
        raise InvalidInput(f"Simulate 1 to {MOST_RATERS} raters.", code="bad_raters")
    if order.seed < 0:
        raise InvalidInput("A seed is 0 or more.", code="bad_seed")
    if order.votes is not None and order.votes < 1:
        raise InvalidInput("Ask for 1 vote or more.", code="bad_votes")
    if order.overlap is not None and not 1 <= order.overlap <= MOST_VOTES_PER_TASK:
        raise InvalidInput(f"An overlap is 1 to {MOST_VOTES_PER_TASK}.", code="bad_overlap")
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
        studies.change(study, actor=None, overlap=overlap)
    short = Task.objects.filter(study=study, state=Task.State.READY, overlap__lt=overlap)
    overlaps.change(study, {pk: overlap - now for pk, now in short.values_list("pk", "overlap")})


def _join(study: Study, order: Order) -> tuple[list[_Seat], int]:
    drawn = [known_raters.draw_rater(number, seed=order.seed) for number in range(1, order.raters + 1)]
    there = set(Rater.objects.filter(study=study, user__isnull=False).values_list("external_id", flat=True))
    seats = [_Seat(rater, _account(rater.name)) for rater in drawn]
    new = [seat for seat in seats if seat.rater.name not in there]
    for seat in new:
        people.add_member(study, seat.user, role=Role.ANNOTATOR, actor=None)
        Rater.objects.filter(study=study, user=seat.user).update(
            origin=Rater.Origin.SIMULATED, external_id=seat.rater.name
        )
    return seats, len(new)


def _account(name: str) -> User:
    """An account to which nobody can sign in."""
    email = f"{name}@simulated.invalid"
    found = User.objects.filter(email=email).first()
    return found or User.objects.create_user(email, name=name, is_active=False)


def _vote(study: Study, seats: Sequence[_Seat], tasks: dict[int, KnownTask], order: Order) -> Iterator[int]:
    """Rounds in which everybody votes once, in a new order each time; who finds no task goes home. Yields the number
    of votes so far."""
    rng = np.random.default_rng([order.seed, 0])
    at_work, given = list(seats), 0
    while at_work and given != order.votes:
        staying = []
        for seat in (at_work[int(i)] for i in rng.permutation(len(at_work))):
            _, lease = leases.lease_next(seat.user, study.slug)
            if lease is None:
                continue
            _submit(seat, lease, _known(tasks, lease), seed=order.seed)
            staying.append(seat)
            given += 1
            yield given
            if given == order.votes:
                return
        at_work = staying


def _known(tasks: dict[int, KnownTask], lease: Lease) -> KnownTask:
    if lease.task_id not in tasks:  # it came, or came back, after the others were looked at
        task = Task.objects.select_related("study").get(pk=lease.task_id)
        tasks.update(known_truth.tasks_of(task.study))
    return tasks[lease.task_id]


def _submit(seat: _Seat, lease: Lease, task: KnownTask, *, seed: int) -> None:
    """A vote depends on the seed, the rater, the task and the sides as shown, and on nothing that came before."""
    rng = np.random.default_rng([seed, *f"{seat.rater.name}/{task.name}".encode()])
    protocol = loaded(lease.protocol_version_id).spec
    ballot = task.truth.ballot(seat.rater, shown=lease.presentation, protocol=protocol, rng=rng)
    submission = Submission(uuid.uuid4(), ballot.answers, ballot.codes, ballot.comment)
    judgments.submit(seat.user, lease.id, submission)


def _open_places(study: Study) -> int:
    waiting = Task.objects.filter(study=study, wants_more=True).values_list(
        "overlap", "n_judgments", "n_leases"
    )
    return sum(overlap - judged - leased for overlap, judged, leased in waiting)
