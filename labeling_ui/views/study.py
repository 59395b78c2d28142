"""The researcher's page of a study, and its state."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from analytics.reports.overview import Progress, StudyOverview, overview
from annotation import access
from annotation.errors import InvalidInput
from annotation.models import Job, ListeningCheck, Study
from annotation.models.people import RATING_ROLES
from annotation.rules import hints
from annotation.rules.listening_checks import CheckRules
from annotation.services import check_standings, studies
from annotation.services.protocols import loaded
from labeling_ui import study_figures
from labeling_ui.next_step import Situation, next_step
from labeling_ui.sentences import said

# Figures follow an import within a minute. A page that has not seen them by now shows what there is.
PATIENCE = timedelta(minutes=3)
_CHANGED = {
    Study.State.RUNNING: _("The study is running: raters can work."),
    Study.State.PAUSED: _("The study is paused: nobody gets new tasks."),
    Study.State.CLOSED: _("The study is closed. Nothing is lost, and it can be opened again."),
}


@login_required
@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    found = overview(study, raters_after=request.GET.get("raters_after", ""))
    protocol = loaded(study.protocol_version_id).spec
    jobs = list(study.jobs.order_by("-created_at")[:5])
    pending = _figures_pending(found, jobs)
    shows_checks = bool(CheckRules.of(study.rules).require)
    context = {
        "study": study,
        "overview": found,
        "shows_checks": shows_checks,
        "checks": _latest_checks(study, found) if shows_checks else {},
        "progress": found.progress,
        "step": next_step(_situation(study, found.progress, jobs)).value,
        "questions": study_figures.question_cards(found, protocol),
        "stopped_early": study_figures.stopped_early(found, protocol),
        "codes": study_figures.code_bars(found, protocol),
        "jobs": jobs,
        "hints_withheld": _hints_withheld(study),
        "pending": pending,
        "look_again": _seconds_to_next_look(study, pending=pending),
    }
    return render(request, "labeling_ui/study/study.html", context)


@login_required
@require_POST
def study_state(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    try:
        study = studies.set_state(study, request.POST.get("state", ""), actor=request.user)
    except InvalidInput as error:
        messages.error(request, said(error))
    else:
        messages.success(request, _CHANGED[Study.State(study.state)])
    return redirect("study", slug)


def _latest_checks(study: Study, found: StudyOverview) -> dict[str, list[ListeningCheck]]:
    return check_standings.latest_runs(study, [row.pseudonym for row in found.raters.rows])


def _hints_withheld(study: Study) -> str | None:
    """In per cent; None where raters see no scores."""
    rule = hints.settings(study.rules)
    return None if rule is None else f"{100 * rule.withheld:g}"


def _figures_pending(found: StudyOverview, jobs: Sequence[Job]) -> bool:
    """Whether an import has brought in what the stored figures do not know yet."""
    if found.computed_at is None:
        return True
    since = max(found.computed_at, timezone.now() - PATIENCE)
    return any(job.report.get("created") and job.finished_at > since for job in jobs if job.finished_at)


def _seconds_to_next_look(study: Study, *, pending: bool) -> int | None:
    """How long the page waits before it asks for its figures again; None where nothing moves by itself."""
    if pending:
        return 5
    return 20 if study.state == Study.State.RUNNING else None


def _situation(study: Study, progress: Progress, jobs: Sequence[Job]) -> Situation:
    return Situation(
        state=study.state,
        tasks=progress.tasks,
        complete=progress.tasks_complete >= progress.tasks > 0,
        people=study.memberships.filter(role__in=RATING_ROLES).exists(),
        importing=any(job.kind == "import" and not job.is_finished for job in jobs),
    )
