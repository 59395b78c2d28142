"""Models that learn from a study's votes: training one, how it goes, what came of it, and making it the scorer."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.services import learned_comparison_jobs, training_jobs
from analytics.services.training_material import learnable
from annotation import access
from annotation.errors import DomainError
from annotation.models import Study
from annotation.services import jobs
from annotation.services.protocols import loaded
from labeling_ui import learned_curves
from labeling_ui.forms.scoring import OptionsForm
from labeling_ui.forms.training import PlanForm, refuse
from labeling_ui.learned_lines import figures_of, learned_line, record_lines, rescoring
from labeling_ui.learned_words import ESSENTIAL
from labeling_ui.run_lines import run_line
from labeling_ui.sentences import said
from scoring.access import learned_model_of
from scoring.models import LearnedModel
from scoring.services import learned
from scoring.training.catalogue import TRAINABLE, Learns, Trainable


def trainable_here(study: Study) -> list[Trainable]:
    """The kinds of models that can learn from what this study asks: of texts one, of clips the other."""
    learns = (
        Learns.RATINGS if loaded(study.protocol_version_id).spec.candidate == "text" else Learns.PREFERENCES
    )
    return [entry for entry in TRAINABLE.values() if entry.learns is learns and learnable(study, entry.name)]


@login_required
def new_training(request: HttpRequest, slug: str) -> HttpResponse:
    """The settings of a training; `?model=` says of which kind where a study could train several."""
    study = access.managed_study(request.user, slug)
    kinds = trainable_here(study)
    chosen = request.GET.get("model") or (kinds[0].name if kinds else "")
    entry = next((kind for kind in kinds if kind.name == chosen), None)
    context: dict[str, Any] = {"study": study, "kinds": kinds, "entry": entry}
    if entry is None:
        return render(request, "labeling_ui/models/train.html", context)
    data = request.POST if request.method == "POST" else None
    options, plan = OptionsForm(entry, data, request.FILES), PlanForm(study, entry, data)
    if request.method == "POST" and all([options.is_valid(), plan.is_valid()]):
        try:
            model = training_jobs.start(
                study, entry.name, options.values, actor=request.user, **plan.cleaned_data
            )
            return redirect("learned_model", model.pk)
        except DomainError as error:
            refuse(options, plan, error)
    essential = [row for row in options.rows if row[0].name in ESSENTIAL]
    further = [row for row in options.rows if row[0].name not in ESSENTIAL]
    context |= {
        "options": options,
        "plan": plan,
        "essential": essential,
        "further": further,
        "further_open": any(field.errors for _option, field, _kept in further),
    }
    return render(request, "labeling_ui/models/train.html", context)


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def learned_model(request: HttpRequest, model_id: int) -> HttpResponse:
    """A version's page; only the part that moves when that part asks for itself."""
    model = learned_model_of(request.user, model_id)
    run = rescoring(model) if model.scorer_id else None
    context = {
        "study": model.study,
        "model": model,
        "job": model.job,
        "line": learned_line(model),
        "curves": learned_curves.drawn(model.curves),
        "rescoring": run_line(run) if run else None,
    }
    if request.headers.get("HX-Request") == "true":
        response = render(request, "labeling_ui/models/learned_live.html", context)
        if model.job.is_finished and (run is None or run.is_finished):
            response["HX-Refresh"] = "true"
        return response
    context |= _outcome(model) if model.scorer_id else {}
    return render(request, "labeling_ui/models/learned.html", context)


@login_required
@require_safe
def learned_record(request: HttpRequest, model_id: int) -> HttpResponse:
    """The training record as a file."""
    model = learned_model_of(request.user, model_id)
    if not model.record:
        raise Http404
    name = f"{model.study.slug}-{model.kind}-{model.number}.json"
    response = JsonResponse(model.record, json_dumps_params={"ensure_ascii": False, "indent": 2})
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@login_required
@require_POST
def cancel_training(request: HttpRequest, model_id: int) -> HttpResponse:
    model = learned_model_of(request.user, model_id)
    try:
        jobs.cancel(model.job, actor=request.user)
    except DomainError as error:
        messages.error(request, said(error))
    return redirect("learned_model", model_id)


@login_required
@require_POST
def promote_model(request: HttpRequest, model_id: int) -> HttpResponse:
    """Make it the study's scorer of its kind."""
    model = learned_model_of(request.user, model_id)
    try:
        learned.promote(model, actor=request.user)
    except DomainError as error:
        messages.error(request, said(error))
    else:
        messages.success(
            request, _("It is the study’s scorer now; everything is scored with it in the background.")
        )
    return redirect("learned_model", model_id)


@login_required
@require_POST
def demote_model(request: HttpRequest, model_id: int) -> HttpResponse:
    """Let it be the study's scorer no longer."""
    model = learned_model_of(request.user, model_id)
    learned.demote(model, actor=request.user)
    messages.success(request, _("It is not the study’s scorer any more. Its scores stay."))
    return redirect("learned_model", model_id)


def _outcome(model: LearnedModel) -> dict[str, Any]:
    record = model.record
    standing = learned.promoted(model.study, model.kind)
    return {
        "tables": [
            (_("Held-out items"), figures_of(record.get("figures", {}))),
            (_("Simple rules on the same items"), figures_of(record.get("baselines", {}))),
            (_("People on the same items"), figures_of(record.get("ceiling", {}))),
        ],
        "record": record_lines(record),
        "standing": learned_line(standing) if standing and standing.pk != model.pk else None,
        "evaluation": learned_comparison_jobs.newest_with(model),
    }
