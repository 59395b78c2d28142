"""Kept files for those who run a study: from disk in ranges, so that a download that broke off goes on; from a bucket
by a link that ends in minutes, and that the next click makes anew. Never for raters: the name and the size of a clip
tell what it is."""

from __future__ import annotations

from django.core.files.storage import default_storage
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse

from annotation.api import ranges


def send(
    request: HttpRequest, name: str, *, filename: str, content_type: str, sha256: str
) -> HttpResponse | StreamingHttpResponse:
    """The file that storage keeps as `name`; whether this account may have it was asked before."""
    if link := getattr(default_storage, "download_link", None):
        elsewhere = HttpResponseRedirect(link(name, filename=filename, content_type=content_type))
        elsewhere["Cache-Control"] = "no-store"
        return elsewhere
    file = ranges.StoredFile(default_storage.open(name))
    response = ranges.send(request, file, content_type=content_type, etag=sha256)
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response
