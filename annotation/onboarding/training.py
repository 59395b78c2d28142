"""Training: runs over a study's training tasks in their order, with feedback after each answer and a pass mark."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from annotation.access import HeldAssignment, RaterAtWork
from annotation.checks.rules import Key, outcome_by_keys
from annotation.errors import Conflict, InvalidInput, NotFound
from annotation.models import Assignment, CheckOutcome, GoldKey, Rater, Study, Task, TrainingRun, User
from annotation.onboarding import path
from annotation.onboarding.clearing import lock_participant, lock_rater, revoke_training
from annotation.onboarding.onboarding_settings import set_onboarding, training_tasks
from annotation.onboarding.rules import OnboardingRules, needed_to_pass, training_problems
from annotation.rating import task_kinds
from annotation.rating.rules.answers import CanonicalAnswer, answers_as_shown, canonical_answers
from annotation.rating.task_selection import PickedTask
from annotation.studies import audit
from annotation.studies.protocols import load_protocol
from annotation.studies.stored_settings import lock_study


@transaction.atomic
def start_run(rater: Rater) -> TrainingRun:
    """The rater's open run, or a new one where training is due. Two tabs start one run.

    Raises Conflict with the code of the step that is due instead.
    """
    rater = lock_participant(rater, at_work=True)
    open_run = rater.training_runs.filter(state=TrainingRun.State.OPEN, revoked_at=None).first()
    step = path.next_step(rater)
    if step is None or step.key != "training" or step.is_end:
        if step is None:
            raise Conflict("There is no training to do: you may rate.", code="training_done")
        raise path.refusal(step, rater.study.slug)
    if open_run is not None:
        return open_run
    tasks = [task.pk for task in training_tasks(rater.study)]
    number = rater.training_runs.aggregate(latest=Max("number"))["latest"] or 0
    return TrainingRun.objects.create(
        rater=rater,
        number=number + 1,
        tasks=tasks,
        needed=needed_to_pass(OnboardingRules.of(rater.study.rules).training, len(tasks)),
    )


@transaction.atomic
def require_again(rater: Rater, *, actor: User | None, reason: str) -> None:
    """Training is due again before this rater's next task, with all attempts. Raises Conflict `no_training` in a study
    without training."""
    rater = lock_rater(rater)
    if not OnboardingRules.of(rater.study.rules).training.required:
        raise Conflict(
            "This study has no training. Set it up under “Before rating” first.", code="no_training"
        )
    revoked = revoke_training([rater], reason=reason)
    audit.record(
        "training.required_again", actor=actor, study=rater.study, subject=rater.pseudonym, reason=reason,
        runs=revoked,
    )  # fmt: skip


@transaction.atomic
def move_task(study: Study, task_id: int, *, to: str, actor: User | None) -> None:
    """Move a training task `up` or `down` in the order, or `out`: it becomes a regular task again.

    Refuses what would leave fewer tasks than the pass mark. Runs that are open go on with the tasks that they began.
    """
    study = lock_study(study)
    ids = [task.pk for task in training_tasks(study)]
    if task_id not in ids:
        raise NotFound("This is no training task any more.")
    place = ids.index(task_id)
    if to == "out":
        ids.remove(task_id)
        if problems := training_problems(OnboardingRules.of(study.rules).training, n_tasks=len(ids)):
            raise InvalidInput(f"{problems[0].message} {problems[0].remedy}", problems=problems)
        task_kinds.set_kind(study, [task_id], kind="regular", actor=actor)
    else:
        other = min(max(place + (-1 if to == "up" else 1), 0), len(ids) - 1)
        ids[place], ids[other] = ids[other], ids[place]
    set_onboarding(study, actor=actor, tasks=ids)


# ── Tasks of a run, in their order ─────────────────────────────────────────────


def next_in_run(rater: RaterAtWork, *, holding: Collection[uuid.UUID]) -> uuid.UUID | PickedTask | None:
    """What a rater with an open run sees next: a lease of it that their browser does not hold yet, or its next task.
    None where every task of the run is with them. The caller holds the rater's lock."""
    run = _open_run(rater.rater_id)
    met = list(_assignments(run).order_by("leased_at"))
    for assignment in met:
        if assignment.id in rater.open_leases and assignment.id not in holding:
            return assignment.id
    met_ids = {assignment.task_id for assignment in met}
    ready = _ready_tasks(run)
    picked = next((pk for pk in run.tasks if pk in ready and pk not in met_ids), None)
    if picked is None:
        settle(run)
        return None
    return PickedTask(
        task_id=picked,
        shuffle_key=rater.cursor,  # the regular queue goes on where it was
        order_balance=0,
        n_draws=rater.rater_id,
        n_candidates=ready[picked],
        pass_number=run.number,
    )


def place_in_run(assignment_id: uuid.UUID, task_id: int) -> dict[str, int] | None:
    """Which task of how many this is, for the rater's page; None where no run of theirs has it."""
    row = Assignment.objects.filter(pk=assignment_id).values_list("rater_id", "pass_number").first()
    run = row and TrainingRun.objects.filter(rater_id=row[0], number=row[1]).first()
    if not run or task_id not in run.tasks:
        return None
    return {"number": run.tasks.index(task_id) + 1, "tasks": len(run.tasks)}


def _open_run(rater_id: int) -> TrainingRun:
    return TrainingRun.objects.select_related("rater__study").get(
        rater_id=rater_id, state=TrainingRun.State.OPEN, revoked_at=None
    )


def _assignments(run: TrainingRun) -> QuerySet[Assignment]:
    """Those of its tasks that the rater has met in this run."""
    return Assignment.objects.filter(
        rater_id=run.rater_id, pass_number=run.number, task__in=run.tasks, state__in=(1, 2, 3)
    )


def _ready_tasks(run: TrainingRun) -> dict[int, int]:
    """Those that are still training tasks, with how many candidates each has."""
    tasks = Task.objects.filter(pk__in=run.tasks, kind=Task.Kind.TRAINING, state=Task.State.READY)
    return dict(tasks.annotate(n_candidates=Count("slots")).values_list("pk", "n_candidates"))


# ── After an answer ────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class QuestionFeedback:
    """What was expected of one question, in the words of the rater's page: sides as they saw them."""

    question: str
    right: bool
    expected: Mapping[str, Any]
    tolerance: float
    explanation: Mapping[str, str]


@dataclass(frozen=True)
class Feedback:
    """How an answer in the training compares with what was expected, and how the run stands with it."""

    passed: bool
    questions: Sequence[QuestionFeedback]
    n_answered: int
    n_tasks: int
    n_correct: int
    needed: int
    state: str


def feedback_on(assignment: HeldAssignment, answers: Sequence[Mapping[str, Any]]) -> Feedback | None:
    """For an answer to a training task that is stored; None for every other task, whose keys no rater ever hears."""
    if assignment.kind != Task.Kind.TRAINING:
        return None
    run = _run_of(assignment)
    if run is None:
        return None
    run, n_answered = settle(run)
    questions = _question_feedback(assignment, answers)
    return Feedback(
        passed=all(each.right for each in questions),
        questions=questions,
        n_answered=n_answered,
        n_tasks=len(run.tasks),
        n_correct=run.n_correct,
        needed=run.needed,
        state=run.state,
    )


def _run_of(assignment: HeldAssignment) -> TrainingRun | None:
    number = Assignment.objects.filter(pk=assignment.id).values("pass_number")
    return (
        TrainingRun.objects.select_related("rater__study")
        .filter(rater_id=assignment.rater_id, number__in=number)
        .first()
    )


def _question_feedback(
    assignment: HeldAssignment, answers: Sequence[Mapping[str, Any]]
) -> list[QuestionFeedback]:
    spec = load_protocol(assignment.protocol_version_id).spec
    given = canonical_answers(spec, answers=answers, presentation=assignment.presentation)
    feedback = []
    for row in GoldKey.objects.filter(task_id=assignment.task_id).order_by("pk"):
        key = Key(row.question_key, row.choice, row.value, row.tolerance)
        shown = answers_as_shown(
            spec, [CanonicalAnswer(key.question, choice=key.choice, value=key.value)], assignment.presentation
        )
        right = bool(outcome_by_keys([key], given).passed)
        expected = {name: value for name, value in shown[0].items() if name != "question"}
        feedback.append(QuestionFeedback(row.question_key, right, expected, row.tolerance, row.explanation))
    return feedback


@transaction.atomic
def settle(run: TrainingRun) -> tuple[TrainingRun, int]:
    """Count what is answered as expected, and end the run once all of it is answered. Safe to repeat: whichever answer
    or request comes after the last one ends it. Returns the run and how many of its tasks are answered."""
    rater = lock_rater(run.rater)
    run = TrainingRun.objects.get(pk=run.pk)
    outcomes = CheckOutcome.objects.filter(
        rater=rater, task__in=run.tasks, judgment__assignment__pass_number=run.number
    )
    answers = dict(outcomes.values_list("task_id", "passed"))
    if run.state != TrainingRun.State.OPEN or run.revoked_at is not None:
        return run, len(answers)
    run.n_correct = sum(passed is not False for passed in answers.values())
    ready = _ready_tasks(run).keys()
    if ready <= answers.keys():
        # Of tasks that were withdrawn meanwhile nobody is asked an answer.
        passed = run.n_correct >= min(run.needed, len(ready | answers.keys()))
        run.state = TrainingRun.State.PASSED if passed else TrainingRun.State.FAILED
        run.finished_at = timezone.now()
    run.save(update_fields=["n_correct", "state", "finished_at"])
    if run.state != TrainingRun.State.OPEN:
        audit.record(
            "training.finished", actor=None, study=rater.study, subject=rater.pseudonym, state=run.state,
            attempt=run.number,
        )  # fmt: skip
        path.look_again(rater)
    return run, len(answers)
