"""An account's own tokens: what programs sign in with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation import access
from annotation.errors import DomainError
from annotation.models import ApiToken, User
from annotation.services import api_tokens
from labeling_ui.forms.problems import add_problems
from labeling_ui.forms.tokens import TokenForm

# More than can be in use at once; of those that have ended, the latest.
SHOWN = 100


@dataclass(frozen=True)
class TokenLine:
    token: ApiToken
    # Titles of the studies it is limited to; None for all.
    studies: list[str] | None


@login_required
@never_cache
def tokens(request: HttpRequest) -> HttpResponse:
    """A new token stands in the answer to its POST and nowhere else."""
    form, made, secret = TokenForm(request.POST or None, user=request.user), None, None
    if form.is_valid():
        try:
            made, secret = api_tokens.make(request.user, **form.cleaned_data)
            form = TokenForm(user=request.user)
        except DomainError as error:
            add_problems(form, error)
    context = {
        "form": form,
        "made": made,
        "secret": secret,
        "first_call": request.build_absolute_uri(reverse("api_me")),
        "lines": list(_lines(request.user)),
    }
    return render(request, "labeling_ui/account/tokens.html", context)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    api_tokens.revoke(request.user, token_id)
    messages.success(request, _("The token is revoked. The next request with it is refused."))
    return redirect("tokens")


def _lines(user: User) -> Iterator[TokenLine]:
    """Those in use first, each group latest first."""
    rows = sorted(ApiToken.objects.filter(user=user).order_by("-pk")[:SHOWN], key=lambda row: not row.is_open)
    limits = {pk for row in rows for pk in row.study_ids or ()}
    titles = dict(access.studies_of(user).filter(pk__in=limits).values_list("pk", "title")) if limits else {}
    for row in rows:
        limited = row.study_ids is not None
        yield TokenLine(
            row, [titles.get(pk, _("a study you have left")) for pk in row.study_ids] if limited else None
        )
