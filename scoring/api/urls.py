from __future__ import annotations

from django.urls import path

from scoring.api import views

urlpatterns = [
    path("scorers/", views.ScorersView.as_view(), name="api_scorers"),
    path("studies/<slug:slug>/scoring-runs/", views.RunsView.as_view(), name="api_scoring_runs"),
    path("studies/<slug:slug>/scores/", views.ScoresView.as_view(), name="api_scores"),
    path("scoring-runs/<int:run_id>/", views.RunView.as_view(), name="api_scoring_run"),
    path("scoring-runs/<int:run_id>/cancel/", views.CancelView.as_view(), name="api_cancel_scoring_run"),
    path("scoring-runs/<int:run_id>/retry/", views.RetryView.as_view(), name="api_retry_scoring_run"),
    path("scoring-runs/<int:run_id>/faults/", views.FaultsView.as_view(), name="api_scoring_faults"),
]
