"""What experts asked a rater to look at again. It shows the rater's own answer and the expert's words, nothing else."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation import access
from annotation.errors import Conflict
from annotation.services import returns
from labeling_ui.own_answers import own_answers
from labeling_ui.sentences import said

SHOWN = 20


@login_required
@never_cache
@require_safe
def returned(request: HttpRequest, slug: str) -> HttpResponse:
    rater = access.rater_of(request.user, slug)
    waiting = returns.waiting_of(request.user, slug)
    shown = waiting[:SHOWN]
    context = {
        "study": rater.study,
        "rows": [(each, own_answers(request.user, each.assignment_id)) for each in shown],
        "n_more": len(waiting) - len(shown),
    }
    return render(request, "labeling_ui/review/returned.html", context)


@login_required
@require_POST
def keep_returned(request: HttpRequest, slug: str, return_id: int) -> HttpResponse:
    """The rater looked again and stays with their answer."""
    access.rater_of(request.user, slug)
    try:
        returns.keep(
            request.user, return_id, request.POST.get("reply", "").replace("\x00", "").strip()[:2000]
        )
    except Conflict as error:
        messages.error(request, said(error))
    else:
        messages.success(request, _("Your answer stays as it is, and the expert is told."))
    return redirect("returned", slug)
