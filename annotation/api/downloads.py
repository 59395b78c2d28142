"""Kept files for those who run a study: from disk in ranges, so that a download that broke off goes on; from a bucket
by a link that ends in minutes, and that the next click makes anew. Never for raters: the name and the size of a clip
tell what it is.

Who fetched what is in the audit log: once for each time that somebody begins, however many ranges follow.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.files.storage import default_storage
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from rest_framework.request import Request

from annotation.api import ranges
from annotation.models import AuditEvent, Study
from annotation.studies import audit


@dataclass(frozen=True)
class DownloadEvent:
    """What the log says of a download: `action` such as export.fetched, and of what."""

    action: str
    study: Study | None
    subject: str


def send_stored_file(
    request: Request, name: str, *, filename: str, content_type: str, sha256: str, event: DownloadEvent
) -> HttpResponse | StreamingHttpResponse:
    """The file that storage keeps as `name`; whether this account may have it was asked before."""
    link = getattr(default_storage, "download_link", None)
    if link or ranges.starts_at_first_byte(request._request, etag=sha256) or not _is_recorded(request, event):
        audit.record(event.action, actor=request.user, study=event.study, subject=event.subject)
    if link:
        elsewhere = HttpResponseRedirect(link(name, filename=filename, content_type=content_type))
        elsewhere["Cache-Control"] = "no-store"
        return elsewhere
    file = ranges.StoredFile(default_storage.open(name))
    django_request: HttpRequest = request._request
    response = ranges.send_range(django_request, file, content_type=content_type, etag=sha256)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def _is_recorded(request: Request, event: DownloadEvent) -> bool:
    """Without this, whoever asks for all but the first byte would be in no log."""
    fetched = AuditEvent.objects.filter(study=event.study, action=event.action, subject=event.subject)
    return fetched.filter(actor=request.user).exists()
