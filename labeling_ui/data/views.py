"""The data of a study: its items, tasks and judgments as tables to filter, sort, play, change and take along."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from analytics.browse.changes import Change, change_rows
from analytics.browse.facts import study_facts
from analytics.browse.freshness import freshen
from analytics.browse.query import Page, Query, Selection
from analytics.browse.rows import RowContext, as_text, load_rows
from annotation import access
from annotation.csv_escaping import escape_formula
from annotation.errors import InvalidInput
from annotation.models import Job, Study
from annotation.studies import saved_views
from labeling_ui.data import page as shown
from labeling_ui.data.cells import CellDrawer, total_text
from labeling_ui.data.forms import ChangeForm, SaveViewForm, outcome_text, reason_text
from labeling_ui.domain_errors import errors_as_messages, problem_text
from labeling_ui.page_responses import action, fresh_page


@fresh_page
def data(request: HttpRequest, slug: str, table: str = "items") -> HttpResponse:
    study = access.managed_study(request.user, slug)
    query = Query.of(table, dict(request.GET.lists()))
    freshness = freshen(study, table)
    language = get_language() or "en"
    facts = study_facts(study, language=language)
    page, problems = Page(()), dict[str, str]()
    context = RowContext.of(study, language=language)
    try:
        selection = Selection(study, query, facts)
        page = selection.page(after=request.GET.get("after", ""), before=request.GET.get("before", ""))
    except InvalidInput as error:
        problems = {problem.field: problem_text(problem) for problem in error.problems}
        query = Query(table, query.filters)
    rows = CellDrawer(study, query, facts, context).rows(load_rows(context, query, page.ids))
    values: dict[str, Any] = {
        "study": study,
        "query": query,
        "table": query.shape,
        "tabs": shown.table_tabs(study, query),
        "headings": shown.headings(study, query),
        "rows": rows,
        "chips": shown.chips(study, query, facts),
        "groups": shown.control_groups(query, facts, problems),
        "columns": shown.column_choices(query),
        "problems": problems,
        "facts": facts,
        "freshness": freshness,
        "page": page,
        "total": _known_total(study, query, page),
        "next_path": shown.data_path(study, query, after=page.after) if page.after else "",
        "previous_path": shown.data_path(study, query, before=page.before) if page.before else "",
        "table_path": shown.data_path(study, Query(table)),
        "table_title": _("Raters") if table == "raters" else _("Data"),
        "first_path": shown.data_path(study, query),
        "query_string": shown.data_path(study, query).partition("?")[2],
        "views": shown.view_links(study, query, saved_views.visible_views(study, table, user=request.user)),
        "view_form": SaveViewForm(auto_id="view_%s"),
        "change_form": ChangeForm(None, table=table),
        "text": (query.filters.get("text") or ("",))[0],
        "hidden": [(name, one) for name, given in query.as_values().items() for one in given],
    }
    return render(request, "labeling_ui/data/data.html", values)


@fresh_page
def data_count(request: HttpRequest, slug: str, table: str) -> HttpResponse:
    """How many rows match: a part of the page that asks for itself, so that no page waits for it."""
    study = access.managed_study(request.user, slug)
    try:
        query = Query.of(table, dict(request.GET.lists()))
        freshen(study, table)
        total = Selection(study, query, study_facts(study)).total()
    except InvalidInput:
        return HttpResponse("")
    return HttpResponse(total_text(total.n, more=total.more, table=table))


def _known_total(study: Study, query: Query, page: Page) -> str:
    """Where the page has all there is, or a counter knows; else it is counted beside the page."""
    if not (page.before or page.after or page.partial):
        return total_text(len(page.ids), more=False, table=query.table)
    return ""


@fresh_page
def data_file(request: HttpRequest, slug: str, table: str) -> StreamingHttpResponse:
    """What is filtered as CSV, streamed: a row is sent as it is read."""
    study = access.managed_study(request.user, slug)
    query = Query.of(table, dict(request.GET.lists()))
    freshen(study, table)
    language = get_language() or "en"
    selection = Selection(study, query, study_facts(study, language=language))
    response = StreamingHttpResponse(
        _csv_lines(RowContext.of(study, language=language), selection), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{table}.csv"'
    return response


def _csv_lines(context: RowContext, selection: Selection) -> Iterator[bytes]:
    """Headings are the columns' keys, as in the API: a script reads the file in any language."""
    query = selection.query
    columns = [column for column in query.shown_columns if column.kind != "clips"]
    yield "\ufeff".encode() + _csv_line(["id", *(column.key for column in columns)])
    for ids in selection.all_ids():
        yield b"".join(
            _csv_line([row.id, *(_csv_cell(row.values.get(column.key)) for column in columns)])
            for row in load_rows(context, query, ids, clips=False)
        )


def _csv_cell(value: Any) -> str | int | float:
    """Numbers as they are, so that no sign of one is escaped."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else as_text(value)


def _csv_line(cells: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(
        escape_formula(cell) if isinstance(cell, str) else cell for cell in cells
    )
    return line.getvalue().encode()


# ── Changes of what is shown ─────────────────────────────────────────────────


@action
def change_data(request: HttpRequest, slug: str, table: str) -> HttpResponse:
    """Change the chosen rows, or everything that the filters find."""
    study = access.managed_study(request.user, slug)
    query = Query.of(table, dict(parse_qs(request.POST.get("query", ""))))
    form = ChangeForm(request.POST, table=table)
    everything = request.POST.get("scope") == "all"
    if form.is_valid() and (everything or form.ids):
        with errors_as_messages(request):
            change = Change.of(table, form.values)
            done = change_rows(study, query, change, ids=None if everything else form.ids, actor=request.user)
            if isinstance(done, Job):
                return redirect("job", done.pk)
            messages.success(request, outcome_text(done.changed, done.unchanged))
            for reason, n in done.reasons.items():
                messages.info(request, reason_text(reason, n))
    elif form.is_valid():
        messages.error(request, _("Choose some rows first."))
    else:
        messages.error(request, " ".join(one for errors in form.errors.values() for one in errors))
    return redirect(shown.data_path(study, query))


# ── Saved views ──────────────────────────────────────────────────────────────


@action
def save_data_view(request: HttpRequest, slug: str, table: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    query = Query.of(table, dict(parse_qs(request.POST.get("query", ""))))
    form = SaveViewForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("A view needs a name of at most 80 characters."))
        return redirect(shown.data_path(study, query))
    with errors_as_messages(request):
        saved_views.save_view(study, table, user=request.user, filters=query.as_values(), **form.cleaned_data)
        messages.success(request, _("The view is saved."))
    return redirect(shown.data_path(study, query))


@action
def remove_data_view(request: HttpRequest, slug: str, table: str, view_id: int) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    query = Query.of(table, {})
    saved_views.delete_view(study, table, view_id, user=request.user, manages=True)
    messages.success(request, _("The view is removed."))
    return redirect(shown.data_path(study, query))
