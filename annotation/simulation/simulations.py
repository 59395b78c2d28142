"""Simulations: a marked copy of a study, simulated raters who join it, and their work through the HTTP API.

Nothing is written to the study that is simulated. Raters have accounts of their own, to which nobody can sign in, and
tokens that are revoked when the simulation ends. Their judgments have the origin `simulated`.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from typing import Any

import httpx2
import numpy as np
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler, get_script_name
from django.db import connection, transaction
from django.db.models import F
from django.urls import set_script_prefix

from annotation.access import tokens
from annotation.errors import Conflict, FieldProblem, InvalidInput
from annotation.models import Assignment, ListeningCheck, Membership, Rater, Study, Task, User
from annotation.models.api import Scope
from annotation.models.people import MANAGING_ROLES, Role
from annotation.simulation import answers, truth
from annotation.simulation.answers import Ballot
from annotation.simulation.profiles import SimulatedRater, draw_raters, parse_mix
from annotation.simulation.rater_session import RaterApi, RaterRecord, RaterSession
from annotation.simulation.truth import Knowledge
from annotation.studies import audit, copies, members, studies
from annotation.studies.protocols import load_protocol
from annotation.studies.stored_settings import lock_study

# The group of a study's `rules` that marks it as a simulation.
MARK = "simulation"
MAX_VOTES = 1000
_ADDRESS_LENGTH = 60
_TIMEOUT_SECONDS = 60.0
# Rounds after which the study's rules look at the work, and how often raters come back for what rules opened again.
_ROUNDS_BETWEEN_RULES, _PASSES = 5, 2

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class SimulationOptions:
    """What to simulate.

    mix: raters by profile. votes: each rater's, at most. overlap: judgments per task; without it the study's own, or as
    many as the raters' votes need. truth_from: the study's votes where it has any, or drawn.
    """

    mix: Mapping[str, int]
    votes: int = 30
    seed: int = 1
    overlap: int | None = None
    truth_from: truth.Source = "votes"

    @classmethod
    def read(cls, profile: str, *, raters: int | None = None, **options: Any) -> SimulationOptions:
        """From what a form, the API or a command line says. Raises InvalidInput."""
        simulation = cls(parse_mix(profile, raters=raters), **options)
        simulation.check()
        return simulation

    def check(self) -> None:
        """Raises InvalidInput with every number that cannot be."""
        problems = []
        if not 1 <= self.votes <= MAX_VOTES:
            problems.append(FieldProblem("votes", f"Give 1 to {MAX_VOTES} votes per rater."))
        if self.seed < 0:
            problems.append(FieldProblem("seed", "Give a seed of 0 or more."))
        if self.overlap is not None and not 1 <= self.overlap <= MAX_VOTES:
            problems.append(FieldProblem("overlap", f"Give an overlap of 1 to {MAX_VOTES}."))
        if self.truth_from not in truth.SOURCES:
            problems.append(FieldProblem("truth_from", f"Give one of {', '.join(truth.SOURCES)}."))
        if problems:
            raise InvalidInput(problems[0].message, problems=problems, code="bad_simulation")

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "mix": dict(self.mix)}


@dataclass(frozen=True)
class Simulation:
    """A simulation that ran: its study, and what each rater met, by their name."""

    study: Study
    records: Mapping[str, RaterRecord]


def is_simulation(study: Study) -> bool:
    """Whether a study is the copy on which raters were simulated."""
    return MARK in study.rules


def check_can_be_simulated(study: Study) -> None:
    """Raises Conflict where a study has nothing to judge or is a simulation itself."""
    if is_simulation(study):
        message = "This study is a simulation itself; simulate the study it was copied from."
        raise Conflict(message, code="simulated")
    if not study.n_tasks:
        raise Conflict("There is nothing to rate yet: import items first.", code="empty_study")


def simulations_of(study: Study) -> Sequence[Study]:
    """The simulations of a study that are still there, the newest first."""
    return list(members.simulations_of(study).order_by("-created_at", "-pk"))


@transaction.atomic
def copy_for_simulation(
    source: Study, options: SimulationOptions, *, actor: User | None, slug: str = ""
) -> Study:
    """A running copy of a study, marked as a simulation. Whoever runs the study runs the copy."""
    check_can_be_simulated(source)
    number = len(simulations_of(source)) + 1
    copy = copies.copy_study(
        source,
        slug=slug or _free_slug(source, number),
        title=f"Simulation {number}: {source.title}"[:200],
        with_items=True,
        actor=None,
    )
    copy.rules = {**copy.rules, MARK: {**options.as_json(), "source": source.slug}}
    copy.description = f"Simulated raters, no people. A copy of {source.slug} for trying its rules."
    copy.save(update_fields=["rules", "description"])
    _raise_overlap(copy, options)
    managers = Membership.objects.filter(study=source, role__in=MANAGING_ROLES).select_related("user")
    for membership in managers:
        members.add_member(copy, membership.user, role=membership.role, actor=None)
    copy = studies.set_study_state(copy, Study.State.RUNNING, actor=None)
    audit.record("study.simulated", actor=actor, study=source, subject=copy.slug, mix=dict(options.mix))
    return copy


def _raise_overlap(copy: Study, options: SimulationOptions) -> None:
    """So that every rater who may work finds as many tasks as they may judge: rules need something to go by."""
    stopped = Rater.objects.filter(study=copy, origin=Rater.Origin.SIMULATED).exclude(
        state=Rater.State.ACTIVE
    )
    n_raters = sum(options.mix.values()) - stopped.count()
    needed = min(n_raters, math.ceil(n_raters * options.votes / max(copy.n_tasks, 1)))
    overlap = options.overlap or max(copy.overlap, needed)
    if overlap != copy.overlap:
        studies.change_study(copy, actor=None, overlap=overlap)
        copy.tasks.filter(kind=Task.Kind.REGULAR).update(overlap=overlap)


@transaction.atomic
def go_on(
    study: Study,
    *,
    mix: Mapping[str, int] | None = None,
    votes: int | None = None,
    overlap: int | None = None,
) -> Study:
    """What holds from now on for a simulation whose raters go on: how many votes each gives in all, and how many
    judgments a task takes at least. Raises InvalidInput where that cannot be, or where `mix` is other raters."""
    study = lock_study(study)
    stored = dict(study.rules[MARK])
    if mix is not None and dict(mix) != stored["mix"]:
        message = "The raters of a simulation stay the same. For others, simulate the study that it was copied from."
        raise InvalidInput.of_field("profile", message)
    if votes is not None:
        stored["votes"] = votes
    if overlap is not None:
        stored["overlap"] = overlap
    options = SimulationOptions(**{name: value for name, value in stored.items() if name != "source"})
    options.check()
    study.rules = {**study.rules, MARK: stored}
    study.save(update_fields=["rules"])
    _raise_overlap(study, options)
    return study


def run(
    study: Study,
    *,
    url: str = "",
    workers: int = 1,
    progress: OnProgress = lambda done, total: None,
    apply_rules: Callable[[], None] = lambda: None,
) -> Simulation:
    """Let the raters of a simulation work until each has given their votes or finds nothing to do. Safe to repeat: it
    goes on where it stopped. `url`: a server over the same database; without one requests are answered in this
    process, through all of the application. `apply_rules` is called every few rounds, and when the work is done: what
    it excludes is collected again from whoever may still vote."""
    if not is_simulation(study):
        raise Conflict("Raters are simulated on a copy that is marked as a simulation.", code="not_simulated")
    stored = dict(study.rules[MARK])
    source = Study.objects.filter(slug=stored.pop("source")).first()
    options = SimulationOptions(**stored)
    knowledge = Knowledge(study, source=source, seed=options.seed, truth_from=options.truth_from)
    raters = draw_raters(dict(options.mix), seed=options.seed)
    with _http_client(url) as http, _rater_tokens(study, raters) as secrets:
        sessions = [
            RaterSession(
                rater, RaterApi(http, secrets[rater.name]), slug=study.slug,
                decide=partial(_decide, knowledge, rater), keys_of=_check_keys,
            )
            for rater in raters
        ]  # fmt: skip
        given = dict(
            Rater.objects.filter(study=study).values_list("external_id", F("n_judgments") + F("n_checks"))
        )
        for session in sessions:
            session.record.votes = given.get(session.rater.name, 0)
        for _ in range(_PASSES):
            _work_in_rounds(sessions, options, workers=workers, progress=progress, apply_rules=apply_rules)
            apply_rules()
            for session in sessions:
                session.look_again()
    audit.record(
        "votes.simulated", actor=None, study=study, raters=len(raters), seed=options.seed,
        votes=sum(session.record.votes for session in sessions),
    )  # fmt: skip
    return Simulation(study, {session.rater.name: session.record for session in sessions})


def _work_in_rounds(
    sessions: Sequence[RaterSession], options: SimulationOptions, *, workers: int, progress: OnProgress,
    apply_rules: Callable[[], None],
) -> None:  # fmt: skip
    """Rounds in which everybody judges one task, in a new order each time: so that the first to come do not take all
    the tasks."""
    rng = np.random.default_rng([options.seed, 0])
    total = options.votes * len(sessions)
    at_work = [session for session in sessions if session.record.votes < options.votes]
    for number in count(1):
        if not at_work:
            return
        if number % _ROUNDS_BETWEEN_RULES == 0:
            apply_rules()
        order = [at_work[int(n)] for n in rng.permutation(len(at_work))]
        chunks = [order[n::workers] for n in range(workers)]
        if workers == 1:
            going_on = [_work(chunks[0])]
        else:
            with ThreadPoolExecutor(workers, thread_name_prefix="raters") as pool:
                going_on = list(pool.map(_work_in_thread, chunks))
        at_work = [session for part in going_on for session in part if session.record.votes < options.votes]
        at_work.sort(key=lambda session: session.rater.name)
        progress(sum(session.record.votes for session in sessions), total)


def _work(sessions: Sequence[RaterSession]) -> list[RaterSession]:
    """Those who may go on."""
    return [session for session in sessions if session.work_once()]


def _work_in_thread(sessions: Sequence[RaterSession]) -> list[RaterSession]:
    try:
        return _work(sessions)
    finally:
        connection.close()  # the thread's own


def _decide(
    knowledge: Knowledge, rater: SimulatedRater, assignment_id: uuid.UUID, durations: Mapping[str, float]
) -> Ballot:
    """Answers to an assignment. What is true of its task is known here and not to the rater's browser."""
    assignment = Assignment.objects.only("task_id", "rater_id", "presentation", "protocol_version_id").get(
        pk=assignment_id
    )
    known, shown = knowledge.of(assignment.task_id, assignment.presentation)
    visit = _visits(assignment, known.name)
    protocol = load_protocol(assignment.protocol_version_id).spec
    return answers.answer_task(rater, protocol, known, shown=shown, durations=durations, visit=visit)


def _visits(assignment: Assignment, name: str) -> int:
    """How often the rater has judged the task, or one that repeats it."""
    met = Assignment.objects.filter(rater_id=assignment.rater_id, state=Assignment.State.SUBMITTED)
    own = met.filter(task__external_id=name)
    return own.union(met.filter(task__repeats__external_id=name)).count()


class _InThisThread(WSGIHandler):
    """The application without the signals of a request's beginning and end: they would close the connection of this
    thread, and with it the lock of the job that it is at."""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:  # type: ignore[override]
        set_script_prefix(get_script_name(environ))
        response = self.get_response(self.request_class(environ))
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [bytes(part) for part in response]


@contextmanager
def _http_client(url: str) -> Iterator[httpx2.Client]:
    if url:
        with httpx2.Client(base_url=url.rstrip("/"), timeout=_TIMEOUT_SECONDS) as client:
            yield client
        return
    host = next((name for name in settings.ALLOWED_HOSTS if name != "*"), "localhost").lstrip(".")
    scheme = "https" if settings.SECURE_SSL_REDIRECT else "http"
    transport = httpx2.WSGITransport(_InThisThread(), raise_app_exceptions=False)
    refusals = logging.getLogger("django.request")
    level = refusals.level
    refusals.setLevel(logging.ERROR)  # a bot is refused all the time
    try:
        with httpx2.Client(base_url=f"{scheme}://{host}", transport=transport) as client:
            yield client
    finally:
        refusals.setLevel(level)


@contextmanager
def _rater_tokens(study: Study, raters: Sequence[SimulatedRater]) -> Iterator[dict[str, str]]:
    """The raters as members of the study, and a token for each while they work."""
    accounts = {rater.name: _join(study, rater) for rater in raters}
    issued = {
        name: tokens.create_token(
            user, name="Simulation", scopes=(Scope.READ, Scope.RATE), days=1, studies=[study.slug]
        )
        for name, user in accounts.items()
    }
    try:
        yield {name: secret for name, (_, secret) in issued.items()}
    finally:
        # Those of a process that was killed among them.
        for account in accounts.values():
            for token in tokens.active_tokens(account):
                tokens.revoke_token(account, token.pk)
        User.objects.filter(pk__in=[user.pk for user in accounts.values()]).update(is_active=False)


@transaction.atomic
def _join(study: Study, rater: SimulatedRater) -> User:
    """An account without a password, whose rater is marked as simulated and named for its profile."""
    email = f"{study.slug}-{rater.name}@simulated.invalid".lower()
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, name=rater.name)
    # The account may be of an earlier simulation with this address, which was deleted since.
    if not study.memberships.filter(user=user).exists():
        members.add_member(study, user, role=Role.ANNOTATOR, actor=None)
        Rater.objects.filter(study=study, user=user).update(
            origin=Rater.Origin.SIMULATED, external_id=rater.name
        )
    if not user.is_active:
        user.is_active = True
        user.save(update_fields=["is_active"])
    return user


def _free_slug(source: Study, number: int) -> str:
    stem = f"{source.slug[:_ADDRESS_LENGTH]}-simulation"
    taken = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def _check_keys(check_id: uuid.UUID) -> list[int | None]:
    return [trial["key"] for trial in ListeningCheck.objects.get(pk=check_id).trials]
