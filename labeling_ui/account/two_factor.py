"""Pages of the second factor, and the gate where the site requires one. django-allauth does the steps; codes are
checked by `annotation.access.two_factor`."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from annotation.access import two_factor
from annotation.access.sign_in import SecondFactorBackend
from annotation.api.errors import problem_response
from annotation.studies import audit


class _CheckedCode:
    """A code is looked at once, under a lock, with a limit that all server processes share."""

    user: Any
    cleaned_data: dict[str, Any]
    authenticator: Authenticator

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        check = two_factor.check_code(self.user, code)
        if check.authenticator is None:
            raise forms.ValidationError(_wait_sentence(check.wait) if check.wait else _wrong_sentence())
        self.authenticator = check.authenticator
        self.authenticator.user = self.user
        return code


def _wrong_sentence() -> str:
    return _("This code is not right, or was used already. Wait for the next one.")


def _wait_sentence(seconds: float) -> str:
    minutes = ceil(seconds / 60)
    return ngettext(
        "Too many wrong codes. Try again in %(minutes)s minute.",
        "Too many wrong codes. Try again in %(minutes)s minutes.",
        minutes,
    ) % {"minutes": minutes}


class CodeForm(_CheckedCode, AuthenticateForm):
    """After the password."""


class ConfirmCodeForm(_CheckedCode, ReauthenticateForm):
    """Before the second factor is changed."""


@method_decorator(never_cache, name="dispatch")
class SetUp(ActivateTOTPView):
    """With it, sessions that began by password alone end: this one goes on."""

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        app = Authenticator.objects.get(user_id=self.request.user.pk, type=Authenticator.Type.TOTP)
        two_factor.record_set_up(self.request.user, app)
        self.request.session[BACKEND_SESSION_KEY] = SecondFactorBackend.PATH
        return response


@method_decorator(never_cache, name="dispatch")
class SwitchOff(DeactivateTOTPView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = self.request.user
        audit.record("user.second_factor_removed", actor=user, subject=f"user {user.pk}")
        return response


class NewRecoveryCodes(GenerateRecoveryCodesView):
    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        user = self.request.user
        audit.record("user.recovery_codes_made", actor=user, subject=f"user {user.pk}")
        return response


@method_decorator(never_cache, name="dispatch")
class RecoveryCodes(ViewRecoveryCodesView):
    """Shown this once, to be kept as a file or on paper."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context["came_for"] = self.request.session.get(CAME_FOR)
        if context["can_view_codes"]:
            about = _("Recovery codes of %(email)s at %(site)s. Each works once.") % {
                "email": self.request.user.email,
                "site": self.request.get_host(),
            }
            context["file"] = "\n".join([about, "", *context["unused_codes"], ""])
        return context


# In the session of somebody who has to set it up first: the page that they came for, such as an invitation.
CAME_FOR = "came_for"
_LONGEST_PATH = 500


class RequireTwoFactor:
    """Where a second factor is required, nothing else opens before it is set up; then the page that they came for is
    one press away. For sessions: tokens are created in one. Costs no query: the session's account has the flag."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.TWO_FACTOR == "optional" or SESSION_KEY not in request.session:
            return self.get_response(request)
        if not getattr(request.user, "lacks_second_factor", False) or _is_open(request.path):
            if request.session.get(CAME_FOR) == request.get_full_path():
                del request.session[CAME_FOR]
            return self.get_response(request)
        sentence = _("You need two-factor sign-in here. Set it up to go on.")
        if request.path.startswith("/api/"):
            return problem_response(403, "two_factor_required", sentence)
        path = request.get_full_path()
        if request.method == "GET" and path != reverse("home") and len(path) <= _LONGEST_PATH:
            request.session[CAME_FOR] = path
        messages.warning(request, sentence)
        return redirect("mfa_activate_totp")


def _is_open(path: str) -> bool:
    pages = ("mfa_index", "account_reauthenticate", "sign_out", "set_language", "javascript_catalog")
    return path.startswith(tuple(reverse(name) for name in pages))
