"""How far a scorer's word depends on how it is asked."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache

from analytics.services import sensitivity_jobs
from annotation import access
from annotation.services.protocols import loaded
from labeling_ui import sensitivity_figures
from labeling_ui.run_lines import title_of
from scoring.access import scorer_of


@login_required
@never_cache
def sensitivity(request: HttpRequest, slug: str, scorer_id: int) -> HttpResponse:
    """The last comparison that was made; posted to, a new one is asked for."""
    study = access.managed_study(request.user, slug)
    scorer = scorer_of(study, scorer_id)
    if request.method == "POST":
        sensitivity_jobs.start(study, scorer, actor=request.user)
        return redirect("sensitivity", slug, scorer_id)
    done, newest = sensitivity_jobs.latest(study, scorer)
    found = sensitivity_jobs.report_of(done) if done else None
    protocol = loaded(study.protocol_version_id).spec
    context = {
        "study": study,
        "scorer": scorer,
        "title": title_of(scorer.key),
        "job": newest,
        "computed_at": done.finished_at if done else None,
        "found": found,
        "questions": sensitivity_figures.question_charts(found, protocol) if found else [],
        "templates": sensitivity_figures.template_rows(found, scorer.config) if found else [],
        "reasons": sensitivity_figures.reasons(found) if found else [],
    }
    return render(request, "labeling_ui/models/sensitivity.html", context)
