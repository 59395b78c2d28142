"""What has scored a study, and asking for more."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from analytics.overview import scorers
from analytics.reports import sensitivity as reports_sensitivity
from analytics.reports.render import html
from annotation import access
from annotation.errors import Conflict, DomainError, InvalidInput, NotFound
from annotation.models import Study
from annotation.studies.protocols import load_protocol
from labeling_ui.domain_errors import add_form_errors, errors_as_messages, errors_in_form, translated_message
from labeling_ui.models.catalogue_texts import scorer_title
from labeling_ui.models.forms import OptionsForm, PromptFileForm, ScopeForm
from labeling_ui.models.run_page import (
    FAULTS,
    fault_lines,
    flatten_options,
    histograms,
    prescore_lines,
    run_line,
    run_options,
    scorer_line,
)
from labeling_ui.models.training_page import learned_line
from labeling_ui.models.training_views import trainable_kinds
from labeling_ui.page_responses import action, attachment, button, live_page, page_cursor, render_page_or_part
from scoring import access as scoring_access
from scoring import learned
from scoring.access import scorer_of
from scoring.metrics import registry
from scoring.metrics.registry import MetricEntry
from scoring.models import ScoringRun
from scoring.policies import prescoring, study_prompts
from scoring.prompts import to_toml
from scoring.runs import estimates, scoring_runs, validation
from scoring.runs.claims import SCORING

RUNS_SHOWN = 10
VERSIONS_SHOWN = 50


@live_page
def models(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    under_way = ScoringRun.objects.filter(study=study, state__in=ScoringRun.UNFINISHED).order_by("-pk")
    recent = ScoringRun.objects.filter(study=study).exclude(state__in=ScoringRun.UNFINISHED).order_by("-pk")
    scored = scorers.scorer_coverage(study)
    running = [run_line(run) for run in under_way[:RUNS_SHOWN]]
    versions = [learned_line(model) for model in learned.list_versions(study)[:VERSIONS_SHOWN]]
    context = {
        "study": study,
        "scorers": [scorer_line(row, scored) for row in scored.rows],
        "under_way": running,
        "recent": [run_line(run) for run in recent[:RUNS_SHOWN]],
        "prescore": prescore_lines(study),
        "kinds": trainable_kinds(study),
        "versions": versions,
        "moves": running or any(not line.model.job.is_finished for line in versions),
    }
    return render_page_or_part(request, "models/models", "models/live", context)


@login_required
def new_run(request: HttpRequest, slug: str) -> HttpResponse:
    """First the choice of a scorer; with `?metric=` its settings."""
    study = access.managed_study(request.user, slug)
    entry = registry.METRICS.get(request.GET.get("metric", ""))
    context: dict[str, Any] = {"study": study, "entry": entry}
    if entry is None:
        context["scorers"] = sorted(registry.METRICS.values(), key=lambda scorer: scorer.title)
        return render(request, "labeling_ui/models/new.html", context)
    data = request.POST if request.method == "POST" else None
    options = OptionsForm(entry, data, request.FILES)
    scope = ScopeForm(data, parts=scorers.study_parts(study))
    if request.method == "POST" and all([options.is_valid(), scope.is_valid()]):
        try:
            if "estimate" in request.POST:
                context["estimate"] = estimates.estimate_run(
                    study, entry.name, options.values, filter=scope.filter
                )
                return _render_new_run(request, context, options, scope)
            return redirect("scoring_run", _start_scoring_run(request, study, entry, options, scope).pk)
        except DomainError as error:
            if error.code == "already_under_way" and scope.cleaned_data["prescore"]:
                return _add_prescore_only(request, study, entry, options, error)
            add_form_errors(options, error, place=lambda path: _form_and_field(path, options, scope))
    return _render_new_run(request, context, options, scope)


def _render_new_run(
    request: HttpRequest, context: dict[str, Any], options: OptionsForm, scope: ScopeForm
) -> HttpResponse:
    entry: MetricEntry = context["entry"]
    prompts = study_prompts.prompts_in_use(context["study"], validation.metric_family(entry.name))
    context |= {"options": options, "scope": scope, "question_sets": prompts.questions if prompts else {}}
    context["is_priced"] = any(option.name == "price_in" for option in entry.options)
    return render(request, "labeling_ui/models/new.html", context)


def _form_and_field(path: str, options: OptionsForm, scope: ScopeForm) -> tuple[Form, str]:
    group, name, *_rest = [*path.split("."), ""]
    return (scope if group == "filter" else options), name


@action
def remove_prescore(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    with errors_as_messages(request, Conflict):
        prescoring.remove_prescore(study, number, request.POST.get("metric", ""), actor=request.user)
        messages.success(request, _("New items are no longer scored with it."))
    return redirect("models", slug)


@transaction.atomic
def _start_scoring_run(
    request: HttpRequest, study: Study, entry: MetricEntry, options: OptionsForm, scope: ScopeForm
) -> ScoringRun:
    run = scoring_runs.request(
        study,
        entry.name,
        options.values,
        filter=scope.filter,
        again=scope.cleaned_data["again"],
        actor=request.user,
    )
    if scope.cleaned_data["prescore"]:
        prescoring.add_prescore(study, entry.name, options.values, actor=request.user)
    return run


def _add_prescore_only(
    request: HttpRequest, study: Study, entry: MetricEntry, options: OptionsForm, error: DomainError
) -> HttpResponse:
    """The same run is at work already; what was wanted of new items holds nevertheless."""
    prescoring.add_prescore(study, entry.name, options.values, actor=request.user)
    messages.warning(request, translated_message(error))
    messages.success(request, _("New items are scored with these settings from now on."))
    return redirect("models", study.slug)


# One scoring run as it goes on: how far it is, what failed and why, what its scores look like.


@live_page
def scoring_run(request: HttpRequest, run_id: int) -> HttpResponse:
    run = scoring_access.run_of(request.user, run_id)
    templates = run.scorer.config.get("templates", {}) if run.scorer else {}
    scored = run.is_finished and run.n_done
    first = ["value", "score", *templates]
    context = {
        "study": run.study,
        "run": run,
        "line": run_line(run),
        "faults": fault_lines(SCORING.count_faults(run)) if run.n_failed else [],
        "histograms": histograms(scorers.score_distributions(run), first=first) if scored else [],
        "settings": run_options(run),
        "filter": list(flatten_options(run.filter)),
        "identity": list(flatten_options(run.scorer.config)) if run.scorer else [],
        "rows_drawn": scorers.ROWS_DRAWN,
    }
    return render_page_or_part(request, "models/run", "models/run_live", context)


@live_page
def failed_rows(request: HttpRequest, run_id: int) -> HttpResponse:
    """Rows of a run without a score, a page at a time; a page of its own where there are no scripts."""
    run = scoring_access.run_of(request.user, run_id)
    fault = request.GET.get("fault", "").replace("\x00", "")
    page = scorers.failed_rows(run, fault=fault, after=page_cursor(request))
    context = {
        "study": run.study,
        "run": run,
        "line": run_line(run),
        "fault": fault,
        "meaning": FAULTS[fault][0] if fault in FAULTS else "",
        "page": page,
    }
    return render_page_or_part(request, "models/failed", "models/failed_part", context)


cancel_run = button(scoring_access.run_of, scoring_runs.cancel, to="scoring_run", of="run_id")
retry_run = button(
    scoring_access.run_of,
    scoring_runs.retry,
    gettext_lazy("The failed rows are being retried."),
    to="scoring_run",
    of="run_id",
)


# A study's own prompts: taken as a file, changed by the researcher, given back.


@login_required
@require_safe
def model_prompts(request: HttpRequest, slug: str) -> HttpResponse:
    return _render_prompts(request, access.managed_study(request.user, slug))


@login_required
def prompt_file(request: HttpRequest, slug: str, family: str) -> HttpResponse:
    """The prompts in use, as a file to keep; posted to, they are replaced by another file."""
    study = access.managed_study(request.user, slug)
    study_prompts.check_family(family)
    if request.method != "POST":
        return _prompt_file_response(study, family)
    form = PromptFileForm(request.POST, request.FILES, prefix=family)
    if form.is_valid():
        with errors_in_form(form, InvalidInput, field="file"):
            study_prompts.set_prompts(study, family, form.cleaned_data["file"], actor=request.user)
            messages.success(request, _("Saved. New runs use these prompts."))
            return redirect("model_prompts", slug)
    return _render_prompts(request, study, form)


@action
def remove_prompts(request: HttpRequest, slug: str, family: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    study_prompts.check_family(family)
    study_prompts.set_prompts(study, family, None, actor=request.user)
    messages.success(request, _("New runs use the prompts that come with the scorer."))
    return redirect("model_prompts", slug)


def _render_prompts(request: HttpRequest, study: Study, bound: PromptFileForm | None = None) -> HttpResponse:
    rows = [
        (
            family,
            study_prompts.own_prompts(study, family),
            study_prompts.prompts_in_use(study, family),
            bound if bound is not None and bound.prefix == family else PromptFileForm(prefix=family),
        )
        for family in study_prompts.prompt_families()
    ]
    return render(request, "labeling_ui/models/prompts.html", {"study": study, "rows": rows})


def _prompt_file_response(study: Study, family: str) -> HttpResponse:
    prompts = study_prompts.prompts_in_use(study, family)
    if prompts is None:
        raise NotFound
    content_type = "application/toml; charset=utf-8"
    return attachment(to_toml(prompts), name=f"{family}.toml", content_type=content_type)


# How far a scorer's word depends on how it is asked.


@login_required
@never_cache
def sensitivity(request: HttpRequest, slug: str, scorer_id: int) -> HttpResponse:
    """The last comparison that was made; posted to, a new one is asked for."""
    study = access.managed_study(request.user, slug)
    scorer = scorer_of(study, scorer_id)
    if request.method == "POST":
        reports_sensitivity.start_sensitivity(study, scorer, actor=request.user)
        return redirect("sensitivity", slug, scorer_id)
    done, newest = reports_sensitivity.latest_sensitivity(study, scorer)
    context = {
        "study": study,
        "scorer": scorer,
        "title": scorer_title(scorer.key),
        "job": newest,
        "computed_at": done.finished_at if done else None,
    }
    if done:
        context["report"] = done.report
        context["document"] = document = reports_sensitivity.sensitivity_document(
            done.report,
            load_protocol(study.protocol_version_id).spec,
            templates=scorer.config.get("templates") or {},
            title=scorer_title(scorer.key),
            language=get_language() or "en",
        )
        context["shown"] = html.render_part(document)
    return render(request, "labeling_ui/models/sensitivity.html", context)
