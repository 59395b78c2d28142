"""The page of one item, from its import to being judged again."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotation import access
from labeling_ui.items.page_data import build_item_page
from labeling_ui.page_responses import fresh_page, page_cursor


@fresh_page
def item_history(request: HttpRequest, slug: str, item_id: int) -> HttpResponse:
    readable = access.item_in_review_queue(request.user, slug, item_id)
    context = {
        "study": readable.access.study,
        "access": readable.access,
        "page": build_item_page(readable, after=page_cursor(request)),
    }
    return render(request, "labeling_ui/items/item.html", context)
