from __future__ import annotations

from django.urls import path

from analytics.api import (
    case_views,
    learned_views,
    plan_views,
    release_views,
    report_files,
    study_views,
    training_set_views,
    views,
)

urlpatterns = [
    path("studies/<slug:slug>/releases/", release_views.ReleasesView.as_view(), name="api_releases"),
    path(
        "studies/<slug:slug>/releases/preview/",
        release_views.ReleasePreviewView.as_view(),
        name="api_release_preview",
    ),
    path(
        "studies/<slug:slug>/releases/<int:number>/", release_views.ReleaseView.as_view(), name="api_release"
    ),
    path(
        "studies/<slug:slug>/releases/<int:number>/file/",
        release_views.ReleaseFileView.as_view(),
        name="api_release_file",
    ),
    path(
        "studies/<slug:slug>/raters/<str:pseudonym>/withdrawal/certificate/",
        release_views.CertificateView.as_view(),
        name="api_withdrawal_certificate",
    ),
    path("studies/<slug:slug>/agreement/", views.AgreementView.as_view(), name="api_agreement"),
    path("studies/<slug:slug>/exports/", views.ExportsView.as_view(), name="api_exports"),
    path(
        "studies/<slug:slug>/training-sets/",
        training_set_views.TrainingSetsView.as_view(),
        name="api_training_sets",
    ),
    path(
        "studies/<slug:slug>/training-sets/preview/",
        training_set_views.TrainingSetPreviewView.as_view(),
        name="api_training_set_preview",
    ),
    path(
        "training-sets/<uuid:job_id>/file/",
        training_set_views.TrainingSetFileView.as_view(),
        name="api_training_set_file",
    ),
    path("studies/<slug:slug>/report/", views.ReportView.as_view(), name="api_report"),
    path(
        "studies/<slug:slug>/report/files/<slug:key>.<slug:extension>",
        report_files.ReportFileView.as_view(),
        name="api_report_file",
    ),
    path("studies/<slug:slug>/overview/", study_views.OverviewView.as_view(), name="api_overview"),
    path("studies/<slug:slug>/scorers/", study_views.StudyScorersView.as_view(), name="api_study_scorers"),
    path(
        "studies/<slug:slug>/scorers/<int:scorer_id>/sensitivity/",
        report_files.SensitivityView.as_view(),
        name="api_sensitivity",
    ),
    path(
        "scoring-runs/<int:run_id>/distributions/",
        study_views.DistributionsView.as_view(),
        name="api_score_distributions",
    ),
    path(
        "studies/<slug:slug>/review/report/",
        report_files.ReviewReportView.as_view(),
        name="api_review_report",
    ),
    path("review-cases/<int:case_id>/", case_views.CaseView.as_view(), name="api_case"),
    path(
        "studies/<slug:slug>/items/<int:item_id>/history/",
        case_views.ItemHistoryView.as_view(),
        name="api_item_history",
    ),
    path("studies/<slug:slug>/plan/", plan_views.PlanView.as_view(), name="api_plan"),
    path("studies/<slug:slug>/plan/pilot/", plan_views.PilotView.as_view(), name="api_plan_pilot"),
    path(
        "studies/<slug:slug>/plan/simulation/",
        plan_views.SimulationView.as_view(),
        name="api_plan_simulation",
    ),
    path("studies/<slug:slug>/comparisons/", report_files.ComparisonsView.as_view(), name="api_comparisons"),
    path(
        "studies/<slug:slug>/comparisons/<uuid:job_id>/",
        report_files.ComparisonView.as_view(),
        name="api_comparison",
    ),
    path(
        "studies/<slug:slug>/comparisons/<uuid:job_id>/files/<slug:key>.<slug:extension>",
        report_files.ComparisonFileView.as_view(),
        name="api_comparison_file",
    ),
    path("trainable-models/", learned_views.TrainableModelsView.as_view(), name="api_trainable_models"),
    path(
        "studies/<slug:slug>/learned-models/",
        learned_views.LearnedModelsView.as_view(),
        name="api_learned_models",
    ),
    path(
        "learned-models/<int:model_id>/", learned_views.LearnedModelView.as_view(), name="api_learned_model"
    ),
    path(
        "learned-models/<int:model_id>/cancel/",
        learned_views.CancelTrainingView.as_view(),
        name="api_cancel_training",
    ),
    path(
        "learned-models/<int:model_id>/promote/",
        learned_views.PromoteModelView.as_view(),
        name="api_promote_model",
    ),
    path(
        "learned-models/<int:model_id>/demote/",
        learned_views.DemoteModelView.as_view(),
        name="api_demote_model",
    ),
    path("exports/<uuid:job_id>/file/", views.ExportFileView.as_view(), name="api_export_file"),
]
