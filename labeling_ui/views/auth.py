"""Signing in and out, passwords, and joining a study by invitation."""

from __future__ import annotations

from math import ceil

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from annotation.models.people import Role
from annotation.services import people
from labeling_ui.forms.auth import SignInForm, SignUpForm


class SignIn(LoginView):
    template_name = "labeling_ui/auth/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_invalid(form)
        if isinstance(form, SignInForm) and form.wait:
            response.status_code = 429
            response["Retry-After"] = str(ceil(form.wait))
        return response


class PasswordChange(PasswordChangeView):
    template_name = "labeling_ui/auth/password.html"
    success_url = reverse_lazy("home")

    def form_valid(self, form) -> HttpResponse:  # type: ignore[no-untyped-def]
        messages.success(self.request, _("Your password has been changed."))
        return super().form_valid(form)


@never_cache
@sensitive_post_parameters("password")
def join(request: HttpRequest, token: str) -> HttpResponse:
    """What an invitation leads to: an account if there is none yet, then the study."""
    invitation = people.open_invitation(token)
    form = None
    if not request.user.is_authenticated:
        form = SignUpForm(request.POST or None)
    if request.method == "POST" and (form is None or form.is_valid()):
        return _accept(request, token, form)
    role = Role(invitation.role)
    context = {"study": invitation.study, "role": role, "form": form}
    return render(request, "labeling_ui/auth/join.html", context)


@transaction.atomic
def _accept(request: HttpRequest, token: str, form: SignUpForm | None) -> HttpResponse:
    """Account and membership together: an invitation that was just used up leaves no account behind."""
    if form is not None:
        user = form.save()
        login(request, user, backend="annotation.authentication.AccountBackend")
    membership = people.accept_invitation(token, request.user)
    messages.success(request, _("Welcome to %(study)s.") % {"study": membership.study.title})
    return redirect("home")
