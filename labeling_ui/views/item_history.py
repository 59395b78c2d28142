"""One item from its import to being judged again, on one page."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from analytics.reports.item_history import item_history as history_of
from annotation import review_access
from annotation.services.protocols import loaded


@login_required
@never_cache
@require_safe
def item_history(request: HttpRequest, slug: str, item_id: int) -> HttpResponse:
    found = review_access.item_in_queue(request.user, slug, item_id)
    study = found.access.study
    questions = loaded(study.protocol_version_id).spec.questions if study.protocol_version_id else ()
    context = {
        "study": study,
        "access": found.access,
        "item": found.item,
        "history": history_of(found.item, votes_up_to=found.votes_up_to),
        "questions": {question.key: question.title for question in questions},
    }
    return render(request, "labeling_ui/review/item_history.html", context)
