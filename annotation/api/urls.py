from __future__ import annotations

from django.urls import path

from annotation.access import api
from annotation.importing import api as importing_api
from annotation.items import api as items_api
from annotation.jobs import api as jobs_api
from annotation.listening import api as listening_api
from annotation.raters import api as raters_api
from annotation.rating import api as rating_api
from annotation.rating import judgments_api, previews_api
from annotation.review import api as review_api
from annotation.studies import api as studies_api
from annotation.webhooks import api as webhooks_api

urlpatterns = [
    path("me/", studies_api.MeView.as_view(), name="api_me"),
    path("audit/", studies_api.SiteAuditView.as_view(), name="api_site_audit"),
    path("audit/file/", studies_api.SiteAuditFileView.as_view(), name="api_site_audit_file"),
    path("tokens/", api.TokensView.as_view(), name="api_tokens"),
    path("tokens/<int:token_id>/", api.TokenView.as_view(), name="api_token"),
    path("studies/", studies_api.StudiesView.as_view(), name="api_studies"),
    path("studies/<slug:slug>/", studies_api.StudyView.as_view(), name="api_study"),
    path("studies/<slug:slug>/raters/", raters_api.RatersView.as_view(), name="api_raters"),
    path("studies/<slug:slug>/raters/<str:pseudonym>/", raters_api.RaterView.as_view(), name="api_rater"),
    path(
        "studies/<slug:slug>/raters/<str:pseudonym>/withdrawal/",
        raters_api.WithdrawalView.as_view(),
        name="api_withdraw_rater",
    ),
    path("studies/<slug:slug>/members/", studies_api.MembersView.as_view(), name="api_members"),
    path("studies/<slug:slug>/members/<int:member_id>/", studies_api.MemberView.as_view(), name="api_member"),
    path("studies/<slug:slug>/invitations/", studies_api.InvitationsView.as_view(), name="api_invitations"),
    path(
        "studies/<slug:slug>/invitations/<int:invitation_id>/",
        studies_api.InvitationView.as_view(),
        name="api_invitation",
    ),
    path("studies/<slug:slug>/items/", items_api.ItemsView.as_view(), name="api_items"),
    path("studies/<slug:slug>/items/<int:item_id>/", items_api.ItemView.as_view(), name="api_item"),
    path("studies/<slug:slug>/tasks/", items_api.TasksView.as_view(), name="api_tasks"),
    path("studies/<slug:slug>/corrections/", items_api.CorrectionsView.as_view(), name="api_corrections"),
    path(
        "studies/<slug:slug>/protocols/",
        studies_api.ProtocolVersionsView.as_view(),
        name="api_protocol_versions",
    ),
    path("studies/<slug:slug>/judgments/", judgments_api.JudgmentsView.as_view(), name="api_judgments"),
    path("studies/<slug:slug>/exclusions/", judgments_api.ExclusionsView.as_view(), name="api_exclusions"),
    path("studies/<slug:slug>/audit/", studies_api.AuditView.as_view(), name="api_audit"),
    path("studies/<slug:slug>/audit/file/", studies_api.AuditFileView.as_view(), name="api_audit_file"),
    path("studies/<slug:slug>/jobs/", jobs_api.JobsView.as_view(), name="api_jobs"),
    path("studies/<slug:slug>/imports/", importing_api.ImportsView.as_view(), name="api_imports"),
    path("studies/<slug:slug>/next/", rating_api.NextView.as_view(), name="api_next"),
    path("studies/<slug:slug>/protocol/", rating_api.ProtocolView.as_view(), name="api_protocol"),
    path(
        "studies/<slug:slug>/preview/next/", previews_api.NextPreviewView.as_view(), name="api_preview_next"
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/",
        previews_api.PreviewView.as_view(),
        name="api_preview",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/heartbeat/",
        previews_api.PreviewHeartbeatView.as_view(),
        name="api_preview_heartbeat",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/judgment/",
        previews_api.PreviewJudgmentView.as_view(),
        name="api_preview_judgment",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/skip/",
        previews_api.PreviewSkipView.as_view(),
        name="api_preview_skip",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/give-back/",
        previews_api.PreviewGiveBackView.as_view(),
        name="api_preview_give_back",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/clips/<slug:name>/",
        previews_api.PreviewClipView.as_view(),
        name="api_preview_clip",
    ),
    path(
        "studies/<slug:slug>/preview/<uuid:preview_id>/spectrograms/<slug:name>/",
        previews_api.PreviewSpectrogramView.as_view(),
        name="api_preview_spectrogram",
    ),
    path("uploads/", importing_api.UploadsView.as_view(), name="api_uploads"),
    path("uploads/<uuid:upload_id>/", importing_api.UploadView.as_view(), name="api_upload"),
    path(
        "uploads/<uuid:upload_id>/import/", importing_api.UploadImportView.as_view(), name="api_import_upload"
    ),
    path("assignments/<uuid:assignment_id>/", rating_api.AssignmentView.as_view(), name="api_assignment"),
    path(
        "assignments/<uuid:assignment_id>/heartbeat/",
        rating_api.HeartbeatView.as_view(),
        name="api_heartbeat",
    ),
    path(
        "assignments/<uuid:assignment_id>/judgment/", rating_api.JudgmentView.as_view(), name="api_judgment"
    ),
    path(
        "assignments/<uuid:assignment_id>/revisions/",
        rating_api.RevisionsView.as_view(),
        name="api_revisions",
    ),
    path("assignments/<uuid:assignment_id>/skip/", rating_api.SkipView.as_view(), name="api_skip"),
    path(
        "assignments/<uuid:assignment_id>/give-back/", rating_api.GiveBackView.as_view(), name="api_give_back"
    ),
    path(
        "assignments/<uuid:assignment_id>/clips/<slug:name>/",
        listening_api.ClipView.as_view(),
        name="api_clip",
    ),
    path(
        "assignments/<uuid:assignment_id>/spectrograms/<slug:name>/",
        listening_api.SpectrogramView.as_view(),
        name="api_spectrogram",
    ),
    path("studies/<slug:slug>/returned/", review_api.ReturnedView.as_view(), name="api_returned"),
    path("returned/<int:return_id>/keep/", review_api.KeepReturnedView.as_view(), name="api_keep_returned"),
    path("studies/<slug:slug>/review/", review_api.QueueView.as_view(), name="api_review_queue"),
    path("studies/<slug:slug>/review/next/", review_api.NextCaseView.as_view(), name="api_next_case"),
    path(
        "studies/<slug:slug>/review/assign/",
        review_api.CaseAssignmentsView.as_view(),
        name="api_assign_cases",
    ),
    path("studies/<slug:slug>/review/views/", review_api.ReviewViewsView.as_view(), name="api_review_views"),
    path(
        "studies/<slug:slug>/review/views/<int:view_id>/",
        review_api.ReviewViewView.as_view(),
        name="api_review_view",
    ),
    path("studies/<slug:slug>/review/rules/", review_api.ReviewRulesView.as_view(), name="api_review_rules"),
    path(
        "studies/<slug:slug>/review/rules/preview/",
        review_api.RulesPreviewView.as_view(),
        name="api_rules_preview",
    ),
    path(
        "studies/<slug:slug>/review/rules/apply/",
        review_api.ApplyRulesView.as_view(),
        name="api_apply_rules",
    ),
    path("review-cases/<int:case_id>/claim/", review_api.ClaimView.as_view(), name="api_claim_case"),
    path("review-cases/<int:case_id>/put-back/", review_api.PutBackView.as_view(), name="api_put_back_case"),
    path("review-cases/<int:case_id>/blind/", review_api.BlindView.as_view(), name="api_blind"),
    path("review-cases/<int:case_id>/keep/", review_api.KeepView.as_view(), name="api_keep_case"),
    path(
        "review-cases/<int:case_id>/correction/", review_api.CorrectionView.as_view(), name="api_correction"
    ),
    path("review-cases/<int:case_id>/fine/", review_api.FineView.as_view(), name="api_fine"),
    path(
        "review-cases/<int:case_id>/withdrawal/", review_api.WithdrawalView.as_view(), name="api_withdrawal"
    ),
    path("review-cases/<int:case_id>/returns/", review_api.ReturnsView.as_view(), name="api_returns"),
    path("review-cases/<int:case_id>/undo/", review_api.UndoView.as_view(), name="api_undo"),
    path("studies/<slug:slug>/checks/", listening_api.ChecksView.as_view(), name="api_checks"),
    path(
        "checks/<uuid:check_id>/sounds/<int:trial>/",
        listening_api.CheckSoundView.as_view(),
        name="api_check_sound",
    ),
    path(
        "checks/<uuid:check_id>/answers/",
        listening_api.CheckAnswerView.as_view(),
        name="api_check_answer",
    ),
    path("jobs/<uuid:job_id>/", jobs_api.JobView.as_view(), name="api_job"),
    path("join/", studies_api.JoinView.as_view(), name="api_join"),
    path("jobs/<uuid:job_id>/problems/", jobs_api.JobProblemsView.as_view(), name="api_job_problems"),
    path("jobs/<uuid:job_id>/import/", importing_api.ImportForRealView.as_view(), name="api_import_for_real"),
    path("jobs/<uuid:job_id>/cancel/", jobs_api.CancelView.as_view(), name="api_cancel_job"),
    path("studies/<slug:slug>/webhooks/", webhooks_api.WebhooksView.as_view(), name="api_webhooks"),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/",
        webhooks_api.WebhookView.as_view(),
        name="api_webhook",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/secret/",
        webhooks_api.WebhookSecretView.as_view(),
        name="api_webhook_secret",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/resume/",
        webhooks_api.WebhookResumeView.as_view(),
        name="api_resume_webhook",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/test/",
        webhooks_api.WebhookTestView.as_view(),
        name="api_test_webhook",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/deliveries/",
        webhooks_api.DeliveriesView.as_view(),
        name="api_deliveries",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/deliveries/<int:delivery_id>/replay/",
        webhooks_api.ReplayView.as_view(),
        name="api_replay_delivery",
    ),
    path(
        "studies/<slug:slug>/webhooks/<int:webhook_id>/replay-failed/",
        webhooks_api.ReplayFailedView.as_view(),
        name="api_replay_failed",
    ),
]
