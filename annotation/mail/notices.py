"""Mails about what happened in a study, to those whose profile asks for them."""

from __future__ import annotations

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.mail import messages, outbox
from annotation.models import Job, Mail, Study, User

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
_OUTCOMES = {
    Job.State.DONE: lambda: _("finished"),
    Job.State.FAILED: lambda: _("failed"),
}


def job_finished(job: Job) -> None:
    """To whoever started it."""
    user, title, outcome = job.created_by, JOB_TITLES.get(job.kind), _OUTCOMES.get(Job.State(job.state))
    if user is None or not user.mails_jobs or title is None or outcome is None:
        return
    link = outbox.site_address(reverse("job", args=[job.pk]))
    study = job.study.title if job.study else ""
    outbox.post(
        user.email,
        lambda: messages.job_finished(
            job=title(), study=study, outcome=outcome(), detail=job.message, link=link
        ),
        kind=Mail.Kind.JOB,
        user=user,
        study=job.study,
    )


def cases_assigned(study: Study, expert: User, *, n: int, actor: User) -> None:
    """To the expert who is to review them."""
    if not n or not expert.mails_cases or expert == actor:
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
