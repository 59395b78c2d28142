"""What has scored a study, and asking for more."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.reports import scorers
from annotation import access
from annotation.errors import DomainError
from annotation.models import Study
from labeling_ui.forms.scoring import OptionsForm, ScopeForm, refuse, scorer_cards
from labeling_ui.run_lines import run_lines
from labeling_ui.scorer_lines import scorer_lines
from scoring.metrics import registry
from scoring.metrics.entries import Entry
from scoring.models import ScoringRun
from scoring.services import runs

RUNS_SHOWN = 10


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def models(request: HttpRequest, slug: str) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    study = access.managed_study(request.user, slug)
    under_way = ScoringRun.objects.filter(study=study, state__in=ScoringRun.UNFINISHED).order_by("-pk")
    recent = ScoringRun.objects.filter(study=study).exclude(state__in=ScoringRun.UNFINISHED).order_by("-pk")
    context = {
        "study": study,
        "scorers": scorer_lines(study, scorers.scorers_of(study)),
        "under_way": run_lines(under_way[:RUNS_SHOWN]),
        "recent": run_lines(recent[:RUNS_SHOWN]),
    }
    live = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/models/{'live' if live else 'models'}.html", context)


@login_required
def new_run(request: HttpRequest, slug: str) -> HttpResponse:
    """First the choice of a scorer; with `?metric=` its settings."""
    study = access.managed_study(request.user, slug)
    entry = registry.METRICS.get(request.GET.get("metric", ""))
    context = {"study": study, "cards": scorer_cards(entry.name if entry else ""), "entry": entry}
    if entry is None:
        return render(request, "labeling_ui/models/new.html", context)
    data = request.POST if request.method == "POST" else None
    options, scope = OptionsForm(entry, data, request.FILES), ScopeForm(data, parts=scorers.parts_of(study))
    if request.method == "POST" and all([options.is_valid(), scope.is_valid()]):
        try:
            return redirect("scoring_run", _start(request, study, entry, options, scope).pk)
        except DomainError as error:
            refuse(options, scope, error)
    return render(request, "labeling_ui/models/new.html", {**context, "options": options, "scope": scope})


def _start(
    request: HttpRequest, study: Study, entry: Entry, options: OptionsForm, scope: ScopeForm
) -> ScoringRun:
    return runs.request(
        study,
        entry.name,
        options.values,
        filter=scope.filter,
        again=scope.cleaned_data["again"],
        actor=request.user,
    )
