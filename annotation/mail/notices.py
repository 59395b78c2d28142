"""Mails about what happened in a study, to those whose profile asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation import access
from annotation.mail import messages, outbox
from annotation.models import Job, Mail, Study, User
from annotation.models.people import MANAGING_ROLES

# Kinds of jobs that somebody starts and waits for, as pages call them. Others send nothing.
JOB_TITLES = {
    "import": lambda: _("Import"),
    "export": lambda: _("Export"),
    "release": lambda: _("Release"),
    "training_set": lambda: _("Training set"),
    "train": lambda: _("Training"),
    "learned_comparison": lambda: _("Comparison of models"),
    "sensitivity": lambda: _("Comparison of templates"),
    "withdraw_rater": lambda: _("Withdrawal of a rater"),
}
# Model work, by the name of its engine, with the page of a run.
RUN_TITLES = {"scoring": lambda: _("Scoring run"), "writing": lambda: _("Writing run")}
RUN_PAGES = {"scoring": "scoring_run", "writing": "writing_run"}
_OUTCOMES = {
    "done": lambda: _("finished"),
    "failed": lambda: _("failed"),
}


def job_finished(job: Job) -> None:
    """To whoever started it."""
    if job.kind in JOB_TITLES:
        title, page = JOB_TITLES[job.kind], ("job", job.pk)
        _post_end(title, job.created_by, job.study, job.state, job.message, page)


def run_finished(
    name: str, run_id: int, *, user: User | None, study: Study, state: str, message: str
) -> None:
    """To whoever requested it; nobody did where a policy of the study did."""
    _post_end(RUN_TITLES[name], user, study, state, message, (RUN_PAGES[name], run_id))


def _post_end(
    title: Callable[[], str],
    user: User | None,
    study: Study | None,
    state: str,
    message: str,
    page: tuple[str, object],
) -> None:
    """`page`: the name of its address, and whose it is."""
    outcome = _OUTCOMES.get(state)
    if user is None or not user.mails_jobs or outcome is None or not _may_read(user, study):
        return
    # Only now: the first address that a process looks up costs it the import of every page.
    name, link = study.title if study else "", outbox.site_address(reverse(page[0], args=[page[1]]))
    outbox.post(
        user.email,
        lambda: messages.job_finished(job=title(), study=name, outcome=outcome(), detail=message, link=link),
        kind=Mail.Kind.JOB,
        user=user,
        study=study,
    )


def _may_read(user: User, study: Study | None) -> bool:
    """Whoever began it may have left the study, or the site."""
    studies: QuerySet[Any] = access.studies_of(user)
    runs = studies.filter(role__in=MANAGING_ROLES)
    return user.is_active and (study is None or runs.filter(pk=study.pk).exists())


def cases_assigned(study: Study, expert: User, *, n: int, actor: User) -> None:
    """To the expert who is to review them."""
    if not n or not expert.mails_cases or not expert.is_active or expert == actor:
        return
    link = outbox.site_address(reverse("review_queue", args=[study.slug]))
    outbox.post(
        expert.email,
        lambda: messages.cases_assigned(study=study.title, by=str(actor), n=n, link=link),
        kind=Mail.Kind.CASES,
        user=expert,
        sent_by=actor,
        study=study,
    )
