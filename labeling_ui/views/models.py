"""What has scored a study, and asking for more."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.reports import scorers
from annotation import access
from annotation.errors import Conflict, DomainError
from annotation.models import Study
from labeling_ui.forms.scoring import OptionsForm, ScopeForm, refuse, scorer_cards
from labeling_ui.learned_lines import learned_lines
from labeling_ui.run_lines import prescore_lines, run_lines
from labeling_ui.scorer_lines import scorer_lines
from labeling_ui.sentences import said
from labeling_ui.views.learned import trainable_here
from scoring.metrics import registry
from scoring.metrics.entries import Entry
from scoring.models import ScoringRun
from scoring.services import learned, orders, runs, study_models, study_prompts

RUNS_SHOWN = 10
VERSIONS_SHOWN = 50


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def models(request: HttpRequest, slug: str) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    study = access.managed_study(request.user, slug)
    under_way = ScoringRun.objects.filter(study=study, state__in=ScoringRun.UNFINISHED).order_by("-pk")
    recent = ScoringRun.objects.filter(study=study).exclude(state__in=ScoringRun.UNFINISHED).order_by("-pk")
    running, versions = (
        run_lines(under_way[:RUNS_SHOWN]),
        learned_lines(learned.numbered(study)[:VERSIONS_SHOWN]),
    )
    context = {
        "study": study,
        "scorers": scorer_lines(scorers.scored(study)),
        "under_way": running,
        "recent": run_lines(recent[:RUNS_SHOWN]),
        "prescore": prescore_lines(study),
        "kinds": trainable_here(study),
        "versions": versions,
        "moves": running or any(not line.model.job.is_finished for line in versions),
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
            if error.code == "already_under_way" and scope.cleaned_data["prescore"]:
                return _only_prescored(request, study, entry, options, error)
            refuse(options, scope, error)
    context |= {"options": options, "scope": scope, "question_sets": _question_sets(study, entry)}
    return render(request, "labeling_ui/models/new.html", context)


@login_required
@require_POST
def remove_prescore(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Let new items go without one of the scorers that they would get."""
    study = access.managed_study(request.user, slug)
    try:
        study_models.remove_prescore(study, number, request.POST.get("metric", ""), actor=request.user)
    except Conflict as error:
        messages.error(request, said(error))
    else:
        messages.success(request, _("New items are no longer scored with it."))
    return redirect("models", slug)


def _question_sets(study: Study, entry: Entry) -> Mapping[str, Mapping[str, str]]:
    """What a scorer that asks questions by name can be told to ask."""
    prompts = study_prompts.in_use(study, orders.family(entry.name))
    return prompts.questions if prompts else {}


@transaction.atomic
def _start(
    request: HttpRequest, study: Study, entry: Entry, options: OptionsForm, scope: ScopeForm
) -> ScoringRun:
    run = runs.request(
        study,
        entry.name,
        options.values,
        filter=scope.filter,
        again=scope.cleaned_data["again"],
        actor=request.user,
    )
    if scope.cleaned_data["prescore"]:
        study_models.add_prescore(study, entry.name, options.values, actor=request.user)
    return run


def _only_prescored(
    request: HttpRequest, study: Study, entry: Entry, options: OptionsForm, error: DomainError
) -> HttpResponse:
    """The same run is at work already; what was wanted of new items holds nevertheless."""
    study_models.add_prescore(study, entry.name, options.values, actor=request.user)
    messages.warning(request, said(error))
    messages.success(request, _("New items are scored with these settings from now on."))
    return redirect("models", study.slug)
