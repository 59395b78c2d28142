"""The audit log as pages: of a study for those who run it, of the site for those who operate it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from annotation import access
from annotation.csv_escaping import csv_lines
from annotation.models import AuditEvent, Study
from annotation.studies import audit
from labeling_ui.page_responses import MAX_CURSOR, fresh_page
from labeling_ui.study.log_words import SUBJECT_TITLES, log_lines

LINES_SHOWN = 50
_CHUNK = 2000


class LogForm(forms.Form):
    subject = forms.ChoiceField(
        label=_("About"), required=False, choices=[("", _("Everything")), *SUBJECT_TITLES.items()]
    )
    person = forms.CharField(label=_("Person"), required=False, max_length=150)
    study = forms.SlugField(label=_("Study"), required=False, max_length=80)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput({"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput({"type": "date"}))

    def __init__(self, *args: Any, of_site: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not of_site:
            del self.fields["study"]

    def filters(self) -> audit.LogFilters:
        """An invalid value filters nothing, and is reported at its field."""
        return audit.LogFilters(**self.cleaned_data) if self.is_valid() else audit.LogFilters()


class _PageForm(forms.Form):
    before = forms.IntegerField(required=False, min_value=1, max_value=MAX_CURSOR)


@fresh_page
def study_log(request: HttpRequest, slug: str) -> HttpResponse:
    study = access.managed_study(request.user, slug)
    return _log_page(request, AuditEvent.objects.filter(study=study), study)


@fresh_page
def site_log(request: HttpRequest) -> HttpResponse:
    access.check_operator(request.user)
    return _log_page(request, AuditEvent.objects.all(), None)


@fresh_page
def study_log_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    study = access.managed_study(request.user, slug)
    return _log_file(request, AuditEvent.objects.filter(study=study), study)


@fresh_page
def site_log_file(request: HttpRequest) -> StreamingHttpResponse:
    access.check_operator(request.user)
    return _log_file(request, AuditEvent.objects.all(), None)


def _log_page(request: HttpRequest, events: QuerySet[AuditEvent], study: Study | None) -> HttpResponse:
    form = LogForm(request.GET, of_site=study is None)
    filters, query = form.filters(), {name: value for name, value in request.GET.items() if value}
    page = _PageForm(request.GET)
    before = page.cleaned_data["before"] if page.is_valid() else None
    rows = audit.search(events, filters).order_by("-pk")
    page_events = list(rows.filter(**({"pk__lt": before} if before else {}))[: LINES_SHOWN + 1])
    query.pop("before", None)
    older = {**query, "before": page_events[LINES_SHOWN - 1].pk} if len(page_events) > LINES_SHOWN else None
    context = {
        "study": study,
        "form": form,
        "lines": list(log_lines(page_events[:LINES_SHOWN])),
        "query": urlencode(query),
        "filtered": bool(query),
        "is_first": before is None,
        "older": urlencode(older) if older else "",
    }
    template = "labeling_ui/study/log/study_log.html" if study else "labeling_ui/study/log/site_log.html"
    return render(request, template, context)


def _log_file(
    request: HttpRequest, events: QuerySet[AuditEvent], study: Study | None
) -> StreamingHttpResponse:
    """All that the filters let through, oldest first."""
    filters = LogForm(request.GET, of_site=study is None).filters()
    response = StreamingHttpResponse(
        csv_lines(_file_rows(audit.search(events, filters))), content_type="text/csv; charset=utf-8"
    )
    name = study.slug if study else "site"
    response["Content-Disposition"] = f'attachment; filename="{name}-log.csv"'
    return response


def _file_rows(rows: QuerySet[AuditEvent]) -> Iterator[list[object]]:
    """A chunk at a time, by key: no transaction stays open for a slow reader."""
    yield ["id", "at", "study", "who", "action", "subject", "data"]
    last = 0
    while chunk := list(rows.filter(pk__gt=last).order_by("pk")[:_CHUNK]):
        for each in chunk:
            who, study = each.actor_name, each.study_slug  # type: ignore[attr-defined]
            data = json.dumps(each.data, ensure_ascii=False)
            yield [each.pk, each.at.isoformat(), study or "", who or "", each.action, each.subject, data]
        last = chunk[-1].pk
