"""The path: the steps before the rating, and which of them a rater still owes. `next_step` alone decides.

Who owes nothing is cleared (`Rater.cleared_until`), so that the next requests for a task look at one column only.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Count, Max, OuterRef, Subquery
from django.urls import reverse
from django.utils import timezone

from annotation.errors import Conflict
from annotation.listening.checks import check_standings
from annotation.listening.rules.checks import CheckRules
from annotation.models import Consent, GuidelinesReading, Judgment, Rater, Study, TrainingRun
from annotation.onboarding import consent, demographics, rules
from annotation.onboarding.rules import OnboardingRules, Run, StepKey, TrainingStanding

# Why a step is next, by its key and state. Codes of refusals are `KEY_STATE`: consent_due, training_failed, …
REASONS = {
    ("consent", "due"): "Read what this study asks of you, and decide whether you take part.",
    ("consent", "declined"): "You declined to take part, so this study has no tasks for you.",
    ("demographics", "due"): "Answer a few questions about yourself first.",
    ("guidelines", "due"): "Read the guidelines first.",
    ("checks", "due"): "Take the listening checks first.",
    ("checks", "exhausted"): "You have tried a listening check too often; try again tomorrow.",
    ("training", "due"): "Practise on a few training tasks first.",
    ("training", "begun"): "Finish the training first.",
    ("training", "failed"): "You did not pass the training, so this study has no tasks for you.",
}
# The one step that is done on the workbench: its tasks are leased like others.
IN_TRAINING = "training_begun"
# From these a rater cannot go on by themselves.
ENDS = frozenset({("consent", "declined"), ("training", "failed")})


@dataclass(frozen=True)
class Step:
    """A step that a study has, as a rater stands with it: done, due, begun, declined, failed or exhausted."""

    key: StepKey
    state: str
    training: TrainingStanding | None = None

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    @property
    def code(self) -> str:
        return f"{self.key}_{self.state}"

    @property
    def reason(self) -> str:
        """One sentence: what to do, and why."""
        return REASONS.get((self.key, self.state), "")

    @property
    def ends_participation(self) -> bool:
        """A participant of a panel is sent back: a day is too long for them to wait."""
        return self.is_end or self.state == "exhausted"

    @property
    def is_end(self) -> bool:
        """The rater cannot go on by themselves."""
        return (self.key, self.state) in ENDS


def steps(rater: Rater) -> list[Step]:
    """The steps of the rater's study in order, each with where they stand. `rater` has its study loaded."""
    settings = OnboardingRules.of(rater.study.rules)
    path: list[Step] = []
    if settings.consent:
        path.append(Step("consent", consent.standing(rater)))
    if settings.questions:
        answered = demographics.is_answered(rater, settings.questions)
        path.append(Step("demographics", "done" if answered else "due"))
    if settings.guidelines:
        path.append(Step("guidelines", "done" if has_read_guidelines(rater) else "due"))
    if checks := check_standings(rater.pk, rater.study):
        left = [standing.state for standing in checks if standing.state != "valid"]
        path.append(Step("checks", left[0] if left else "done"))
    if settings.training.required:
        standing = training_standing(rater, settings)
        path.append(Step("training", standing.state, standing))
    return path


def next_step(rater: Rater) -> Step | None:
    """The first step that is not done; None where the rater may rate."""
    return next((step for step in steps(rater) if not step.is_done), None)


def look_again(rater: Rater) -> Step | None:
    """The next step; where there is none, the rater is cleared. Called after each step, and where a task is refused."""
    step = next_step(rater)
    if step is None:
        until = OnboardingRules.of(rater.study.rules).cleared_until(timezone.now())
        Rater.objects.filter(pk=rater.pk).update(cleared_until=until)
        rater.cleared_until = until
    return step


def preview_steps(study: Study) -> list[Step]:
    """The steps of a study as somebody meets them who has done none."""
    settings = OnboardingRules.of(study.rules)
    keys: dict[StepKey, bool] = {
        "consent": settings.consent,
        "demographics": bool(settings.questions),
        "guidelines": settings.guidelines,
        "checks": bool(CheckRules.of(study.rules).require),
        "training": settings.training.required,
    }
    standing = TrainingStanding("due", settings.training.attempts or None)
    return [Step(key, "due", standing if key == "training" else None) for key in rules.STEPS if keys[key]]


def is_cleared(rater: Rater) -> bool:
    """What the statement that finds the rater at work (`access.rater_at_work`) decides of them, from their row."""
    settings = OnboardingRules.of(rater.study.rules)
    if not settings.is_on:
        return True
    if rater.origin == Rater.Origin.SIMULATED and "simulation" not in rater.study.rules:
        return True
    if rater.cleared_until is None:
        return False
    until, gap = rater.cleared_until, timedelta(minutes=settings.stored["gap"])
    if gap and rater.last_judgment_at is not None:
        until = max(until, rater.last_judgment_at + gap)
    return timezone.now() < until


def due_at_work(rater_id: int) -> Step | None:
    """For a rater at work who is not cleared: what they owe, else None, and they are cleared."""
    return look_again(Rater.objects.select_related("study").get(pk=rater_id))


def refusal(step: Step, slug: str) -> Conflict:
    """The refusal of a task, with the address where the rater goes on."""
    address = {"page": reverse("start", args=[slug]), "api": reverse("api_onboarding", args=[slug])}
    return Conflict(step.reason, code=step.code, extra={"next_step": {"key": step.key, **address}})


def read_guidelines(rater: Rater) -> None:
    """The rater opened the guidelines in force and goes on from there."""
    GuidelinesReading.objects.get_or_create(rater=rater, protocol_version_id=rater.study.protocol_version_id)


def has_read_guidelines(rater: Rater) -> bool:
    return GuidelinesReading.objects.filter(
        rater=rater, protocol_version_id=rater.study.protocol_version_id
    ).exists()


def training_standing(rater: Rater, settings: OnboardingRules) -> TrainingStanding:
    runs = TrainingRun.objects.filter(rater=rater, revoked_at=None).order_by("number")
    last_work = Judgment.objects.filter(rater=rater).aggregate(latest=Max("submitted_at"))["latest"]
    return rules.training_standing(
        settings.training,
        [Run(*row) for row in runs.values_list("number", "state", "finished_at")],
        last_work=last_work,
        now=timezone.now(),
    )


@dataclass(frozen=True)
class StepCounts:
    """How far the raters of a study are; those who have withdrawn are in none."""

    raters: int
    ready: int
    declined: int
    failed: int


def step_counts(study: Study) -> StepCounts:
    """Of persons, by their latest decision and by the attempts at the training that they have used."""
    raters = study.raters.filter(origin=Rater.Origin.PERSON, user__isnull=False).exclude(
        state=Rater.State.WITHDRAWN
    )
    latest = Consent.objects.filter(rater=OuterRef("pk")).order_by("-pk").values("accepted")[:1]
    run = TrainingRun.objects.filter(rater=OuterRef("pk"), revoked_at=None).order_by("-number")
    attempts = OnboardingRules.of(study.rules).training.attempts
    failed = (
        run.filter(state=TrainingRun.State.FAILED)
        .order_by()
        .values("rater")
        .annotate(n=Count("pk"))
        .values("n")
    )
    rows = raters.annotate(
        consented=Subquery(latest), n_failed=Subquery(failed), last_run=Subquery(run.values("state")[:1])
    )
    return StepCounts(
        raters=raters.count(),
        ready=raters.filter(cleared_until__gt=timezone.now()).count(),
        declined=rows.filter(consented=False).count(),
        failed=rows.filter(last_run=TrainingRun.State.FAILED, n_failed__gte=attempts).count()
        if attempts
        else 0,
    )
