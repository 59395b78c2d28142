"""Every page. The API has its own list, in `annotation.api.urls`."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path
from django.views.i18n import set_language

from labeling_ui.views import auth, home, rate

urlpatterns = [
    path("", home.home, name="home"),
    # ── Accounts ─────────────────────────────────────────────────────────────
    path("sign-in/", auth.SignIn.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
    path("account/password/", auth.PasswordChange.as_view(), name="password_change"),
    path("join/<str:token>/", auth.join, name="join"),
    path("language/", set_language, name="set_language"),
    # ── Rating ───────────────────────────────────────────────────────────────
    path("studies/<slug:slug>/guidelines/", rate.guidelines, name="guidelines"),
    path("studies/<slug:slug>/work/", rate.work, name="work"),
    # ── Running a study: study, new_study, import, job, people, settings, export ──
]
