from __future__ import annotations

from django.urls import path

from annotation.api import rating

urlpatterns = [
    path("studies/<slug:slug>/next/", rating.NextView.as_view(), name="api_next"),
    path("studies/<slug:slug>/protocol/", rating.ProtocolView.as_view(), name="api_protocol"),
    path("assignments/<uuid:assignment_id>/", rating.AssignmentView.as_view(), name="api_assignment"),
    path("assignments/<uuid:assignment_id>/heartbeat/", rating.HeartbeatView.as_view(), name="api_heartbeat"),
    path("assignments/<uuid:assignment_id>/judgment/", rating.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<uuid:assignment_id>/skip/", rating.SkipView.as_view(), name="api_skip"),
    path("assignments/<uuid:assignment_id>/give-back/", rating.GiveBackView.as_view(), name="api_give_back"),
    path("assignments/<uuid:assignment_id>/clips/<slug:name>/", rating.ClipView.as_view(), name="api_clip"),
]
