"""A study's writers: set up, changed, started; and texts that were written elsewhere."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.reports import scorers
from annotation import access
from annotation.errors import DomainError
from annotation.models import Study
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.writers import StartForm, TextsFileForm, WriterForm, options_form, refuse
from labeling_ui.sentences import said
from labeling_ui.writing_lines import writing_lines
from scoring.access import writer_of
from scoring.models import Writer, WritingRun
from scoring.services import writers as service
from scoring.services import writing_drafts, writing_runs, writing_uploads
from scoring.services.writing_file_checks import Allowing
from scoring.services.writing_files import TakenIn
from scoring.writing.catalogue import KINDS

RUNS_SHOWN = 10


@login_required
@never_cache
@vary_on_headers("HX-Request")
@require_safe
def writers(request: HttpRequest, slug: str) -> HttpResponse:
    """The page; only the part that moves when that part asks for itself."""
    study = access.managed_study(request.user, slug)
    runs = WritingRun.objects.filter(study=study).exclude(purpose=WritingRun.Purpose.DRAFTS)
    runs = runs.select_related("writer").order_by("-pk")
    context = {
        "study": study,
        "writers": Writer.objects.filter(study=study)
        .select_related("system")
        .order_by("retired", "writes", "name"),
        "under_way": writing_lines(runs.filter(state__in=WritingRun.UNFINISHED)[:RUNS_SHOWN]),
        "recent": writing_lines(runs.exclude(state__in=WritingRun.UNFINISHED)[:RUNS_SHOWN]),
        "drafts": writing_drafts.draft_outcomes(study),
    }
    live = request.headers.get("HX-Request") == "true"
    return render(request, f"labeling_ui/writers/{'live' if live else 'writers'}.html", context)


@login_required
def new_writer(request: HttpRequest, slug: str) -> HttpResponse:
    """First what is to be written; with `?writes=` by which model and how."""
    study = access.managed_study(request.user, slug)
    writes = request.GET.get("writes", "")
    if writes not in KINDS:
        return render(request, "labeling_ui/writers/kinds.html", {"study": study, "kinds": KINDS.values()})
    return _edit(request, study, writes, None)


@login_required
def edit_writer(request: HttpRequest, slug: str, writer_id: int) -> HttpResponse:
    writer = writer_of(request.user, slug, writer_id)
    return _edit(request, writer.study, writer.writes, writer)


def _edit(request: HttpRequest, study: Study, writes: str, writer: Writer | None) -> HttpResponse:
    data = request.POST if request.method == "POST" else None
    form = WriterForm(study, writes, data, writer=writer)
    options = options_form(writes, data, request.FILES, writer=writer)
    if request.method == "POST" and all([form.is_valid(), options.is_valid()]):
        wanted = form.wanted(writes, options)
        try:
            if writer is None:
                service.add(study, wanted, actor=request.user)
            else:
                service.change(writer, wanted, actor=request.user)
        except DomainError as error:
            refuse(form, options, error)
        else:
            messages.success(request, _("Saved: %(name)s.") % {"name": wanted.name})
            return redirect("writers", study.slug)
    context = {"study": study, "writer": writer, "kind": KINDS[writes], "form": form, "options": options}
    return render(request, "labeling_ui/writers/writer.html", context)


@login_required
@require_POST
def retire_writer(request: HttpRequest, slug: str, writer_id: int) -> HttpResponse:
    """Retire a writer; or bring one back that was retired."""
    writer = writer_of(request.user, slug, writer_id)
    service.retire(writer, retired=request.POST.get("retired") != "no", actor=request.user)
    return redirect("writers", slug)


@login_required
def start_writer(request: HttpRequest, slug: str, writer_id: int) -> HttpResponse:
    writer = writer_of(request.user, slug, writer_id)
    data = request.POST if request.method == "POST" else None
    form = StartForm(data, parts=scorers.parts_of(writer.study), answers=writer.system_id is not None)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("writing_run", writing_runs.request(writer, **form.asked, actor=request.user).pk)
        except DomainError as error:
            add_problems(form, error)
    context = {"study": writer.study, "writer": writer, "form": form}
    return render(request, "labeling_ui/writers/start.html", context)


@login_required
def texts_file(request: HttpRequest, slug: str) -> HttpResponse:
    """Texts and answers from a file."""
    study = access.managed_study(request.user, slug)
    form, problems = TextsFileForm(request.POST or None, request.FILES or None), ()
    if request.method == "POST" and form.is_valid():
        try:
            return _taken(request, study, _take_in(request, study, form))
        except DomainError as error:
            form.add_error("file", said(error))
            problems = error.problems
    context = {"study": study, "form": form, "problems": problems}
    return render(request, "labeling_ui/writers/file.html", context)


def _take_in(request: HttpRequest, study: Study, form: TextsFileForm) -> TakenIn:
    chosen = form.cleaned_data
    return writing_uploads.take_in(
        study,
        chosen["file"],
        allowing=Allowing(chosen["anew"], chosen["judged"], chosen["new_systems"]),
        publishes=not chosen["look_first"],
        actor=request.user,
    )


def _taken(request: HttpRequest, study: Study, taken: TakenIn) -> HttpResponse:
    if taken.run is None:
        messages.info(request, _("Everything in this file is there already; nothing was changed."))
        return redirect("writers", study.slug)
    if taken.n_there:
        there = ngettext(
            "%(n)d row says what is there already.", "%(n)d rows say what is there already.", taken.n_there
        )
        messages.info(request, there % {"n": taken.n_there})
    return redirect("writing_run", taken.run.pk)
