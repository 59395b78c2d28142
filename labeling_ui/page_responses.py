"""Responses that pages share: htmx parts that refresh themselves, attachments, page cursors, addresses for scripts."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from analytics.reports.document import Document
from analytics.reports.render import files, html
from labeling_ui.domain_errors import errors_as_messages

View = Callable[..., HttpResponse]
NO_ID = uuid.UUID(int=0)
# The largest id that the database can compare with.
MAX_CURSOR = 2**63 - 1


def action(view: View) -> View:
    """What a button of a page does: signed in, and only by POST."""
    return login_required(require_POST(view))


def button(find: Callable[..., Any], act: Callable[..., object], done: Any = "", *, to: str, of: str) -> View:
    """The view of a button: `find` an object by the address, `act` on it as whoever pressed, and say what is `done`, or
    what the service refuses. Then to the page `to`, with those parts of the address that `of` names."""

    @action
    def press(request: HttpRequest, **address: Any) -> HttpResponse:
        target = find(request.user, **address)
        with errors_as_messages(request):
            act(target, actor=request.user)
            if done:
                messages.success(request, done)
        names: dict[str, Any] = {name: address[name] for name in of.split()}
        response: HttpResponse = redirect(to, **names)
        return response

    return press


def fresh_page(view: View) -> View:
    """A page to read, never from a cache: signed in."""
    return login_required(never_cache(require_safe(view)))


def live_page(view: View) -> View:
    """A page of which htmx fetches the part that changes: signed in, read only, never from a cache."""
    return login_required(never_cache(vary_on_headers("HX-Request")(require_safe(view))))


def is_part_request(request: HttpRequest) -> bool:
    """Whether htmx asks for the part of a page that changes."""
    return request.headers.get("HX-Request") == "true"


def render_page_or_part(
    request: HttpRequest, page: str, part: str, context: Mapping[str, Any]
) -> HttpResponse:
    """One of two templates of labeling_ui: the page, or the part of it that htmx asks for."""
    return render(request, f"labeling_ui/{part if is_part_request(request) else page}.html", context)


def render_part(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, finished: bool
) -> HttpResponse:
    """A part that htmx asked for; once its work is finished, the browser loads the whole page again."""
    response = render(request, f"labeling_ui/{template}.html", context)
    if finished:
        response["HX-Refresh"] = "true"
    return response


def attachment(content: bytes | str, *, name: str, content_type: str) -> HttpResponse:
    response = HttpResponse(content, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


# A page stays light however long a table is; its files have all rows.
ROWS_SHOWN = 50


def document_context(document: Document, file_view: str, *args: object) -> dict[str, Any]:
    """A document as its page shows it, with links to its files at `file_view`."""
    return {
        "document": document,
        "shown": html.render_part(
            document,
            most_rows=ROWS_SHOWN,
            address=lambda key, extension: reverse(file_view, args=[*args, key, extension]),
        ),
    }


def document_attachment(document: Document, key: str, extension: str, *, stem: str) -> HttpResponse:
    """A document as one file, or one of its tables or figures; 404 where it has none of that key."""
    content = files.document_file(document, key, extension, folder=stem)
    if content is None:
        raise Http404
    name = stem if key == files.WHOLE_REPORT else f"{stem}-{key}"
    return attachment(content, name=f"{name}.{extension}", content_type=files.CONTENT_TYPES[extension])


def json_response(data: Any) -> JsonResponse:
    """JSON that people can read: indented, with its characters as they are."""
    return JsonResponse(data, json_dumps_params={"ensure_ascii": False, "indent": 2})


def url_prefix(view: str, *args: object, placeholder: object = NO_ID) -> str:
    """The beginning of a view's addresses, up to the id to which scripts add the rest."""
    prefix, _id, _rest = reverse(view, args=[*args, placeholder]).partition(f"/{placeholder}/")
    return f"{prefix}/"


def page_cursor(request: HttpRequest, name: str = "after") -> int:
    """The id after which a list goes on; 0 for its beginning."""
    text = request.GET.get(name, "")
    return min(int(text), MAX_CURSOR) if text.isdecimal() and len(text) < 20 else 0
