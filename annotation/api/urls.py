from __future__ import annotations

from django.urls import path

from annotation.api import content, jobs, listening_checks, people, rating, review, studies

urlpatterns = [
    path("me/", studies.MeView.as_view(), name="api_me"),
    path("studies/", studies.StudiesView.as_view(), name="api_studies"),
    path("studies/<slug:slug>/", studies.StudyView.as_view(), name="api_study"),
    path("studies/<slug:slug>/raters/", people.RatersView.as_view(), name="api_raters"),
    path("studies/<slug:slug>/raters/<str:pseudonym>/", people.RaterView.as_view(), name="api_rater"),
    path("studies/<slug:slug>/members/", people.MembersView.as_view(), name="api_members"),
    path("studies/<slug:slug>/members/<int:member_id>/", people.MemberView.as_view(), name="api_member"),
    path("studies/<slug:slug>/invitations/", people.InvitationsView.as_view(), name="api_invitations"),
    path(
        "studies/<slug:slug>/invitations/<int:invitation_id>/",
        people.InvitationView.as_view(),
        name="api_invitation",
    ),
    path("studies/<slug:slug>/items/", content.ItemsView.as_view(), name="api_items"),
    path("studies/<slug:slug>/judgments/", content.JudgmentsView.as_view(), name="api_judgments"),
    path("studies/<slug:slug>/exclusions/", content.ExclusionsView.as_view(), name="api_exclusions"),
    path("studies/<slug:slug>/audit/", content.AuditView.as_view(), name="api_audit"),
    path("studies/<slug:slug>/imports/", jobs.ImportsView.as_view(), name="api_imports"),
    path("studies/<slug:slug>/next/", rating.NextView.as_view(), name="api_next"),
    path("studies/<slug:slug>/protocol/", rating.ProtocolView.as_view(), name="api_protocol"),
    path("assignments/<uuid:assignment_id>/", rating.AssignmentView.as_view(), name="api_assignment"),
    path("assignments/<uuid:assignment_id>/heartbeat/", rating.HeartbeatView.as_view(), name="api_heartbeat"),
    path("assignments/<uuid:assignment_id>/judgment/", rating.JudgmentView.as_view(), name="api_judgment"),
    path("assignments/<uuid:assignment_id>/revisions/", rating.RevisionsView.as_view(), name="api_revisions"),
    path("assignments/<uuid:assignment_id>/skip/", rating.SkipView.as_view(), name="api_skip"),
    path("assignments/<uuid:assignment_id>/give-back/", rating.GiveBackView.as_view(), name="api_give_back"),
    path("assignments/<uuid:assignment_id>/clips/<slug:name>/", rating.ClipView.as_view(), name="api_clip"),
    path(
        "assignments/<uuid:assignment_id>/spectrograms/<slug:name>/",
        rating.SpectrogramView.as_view(),
        name="api_spectrogram",
    ),
    path("review-cases/<int:case_id>/blind/", review.BlindView.as_view(), name="api_blind"),
    path("review-cases/<int:case_id>/keep/", review.KeepView.as_view(), name="api_keep_case"),
    path("review-cases/<int:case_id>/correction/", review.CorrectionView.as_view(), name="api_correction"),
    path("review-cases/<int:case_id>/fine/", review.FineView.as_view(), name="api_fine"),
    path("review-cases/<int:case_id>/withdrawal/", review.WithdrawalView.as_view(), name="api_withdrawal"),
    path("review-cases/<int:case_id>/returns/", review.ReturnsView.as_view(), name="api_returns"),
    path("review-cases/<int:case_id>/undo/", review.UndoView.as_view(), name="api_undo"),
    path("studies/<slug:slug>/checks/", listening_checks.ChecksView.as_view(), name="api_checks"),
    path(
        "checks/<uuid:check_id>/sounds/<int:trial>/",
        listening_checks.CheckSoundView.as_view(),
        name="api_check_sound",
    ),
    path(
        "checks/<uuid:check_id>/answers/",
        listening_checks.CheckAnswerView.as_view(),
        name="api_check_answer",
    ),
    path("jobs/<uuid:job_id>/", jobs.JobView.as_view(), name="api_job"),
    path("jobs/<uuid:job_id>/cancel/", jobs.CancelView.as_view(), name="api_cancel_job"),
]
