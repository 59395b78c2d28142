from __future__ import annotations

from django.urls import path

from scoring.api import drafts, models, views, writers, writing

urlpatterns = [
    path("scorers/", views.ScorersView.as_view(), name="api_scorers"),
    path("studies/<slug:slug>/scoring-runs/", views.RunsView.as_view(), name="api_scoring_runs"),
    path("studies/<slug:slug>/hints/", models.HintsView.as_view(), name="api_hints"),
    path("studies/<slug:slug>/prescore/", models.PrescoreView.as_view(), name="api_prescore"),
    path(
        "studies/<slug:slug>/prescore/<int:number>/remove/",
        models.PrescoreRowView.as_view(),
        name="api_remove_prescore",
    ),
    path("studies/<slug:slug>/prompts/", models.PromptFamiliesView.as_view(), name="api_prompt_families"),
    path("studies/<slug:slug>/prompts/<slug:family>/", models.PromptsView.as_view(), name="api_prompts"),
    path("writer-kinds/", writers.WriterKindsView.as_view(), name="api_writer_kinds"),
    path("studies/<slug:slug>/writers/", writers.WritersView.as_view(), name="api_writers"),
    path("studies/<slug:slug>/writers/<int:writer_id>/", writers.WriterView.as_view(), name="api_writer"),
    path(
        "studies/<slug:slug>/writers/<int:writer_id>/start/",
        writers.StartWriterView.as_view(),
        name="api_start_writer",
    ),
    path(
        "studies/<slug:slug>/draft-outcomes/", writers.DraftOutcomesView.as_view(), name="api_draft_outcomes"
    ),
    path("studies/<slug:slug>/texts/", writers.TextsView.as_view(), name="api_texts"),
    path("studies/<slug:slug>/writing-runs/", writing.WritingRunsView.as_view(), name="api_writing_runs"),
    path("writing-runs/<int:run_id>/", writing.WritingRunView.as_view(), name="api_writing_run"),
    path("writing-runs/<int:run_id>/rows/", writing.WrittenRowsView.as_view(), name="api_written_rows"),
    path("writing-runs/<int:run_id>/publish/", writing.PublishView.as_view(), name="api_publish_writing"),
    path("writing-runs/<int:run_id>/cancel/", writing.CancelWritingView.as_view(), name="api_cancel_writing"),
    path("writing-runs/<int:run_id>/retry/", writing.RetryWritingView.as_view(), name="api_retry_writing"),
    path(
        "writing-runs/<int:run_id>/rows/<int:row_id>/leave-out/",
        writing.LeaveOutView.as_view(),
        name="api_leave_out",
    ),
    path("review-cases/<int:case_id>/drafts/", drafts.DraftsView.as_view(), name="api_case_drafts"),
    path(
        "review-cases/<int:case_id>/drafts/<int:draft_id>/reject/",
        drafts.RejectDraftView.as_view(),
        name="api_reject_draft",
    ),
    path("studies/<slug:slug>/scores/", views.ScoresView.as_view(), name="api_scores"),
    path("scoring-runs/<int:run_id>/", views.RunView.as_view(), name="api_scoring_run"),
    path("scoring-runs/<int:run_id>/cancel/", views.CancelView.as_view(), name="api_cancel_scoring_run"),
    path("scoring-runs/<int:run_id>/retry/", views.RetryView.as_view(), name="api_retry_scoring_run"),
    path("scoring-runs/<int:run_id>/faults/", views.FaultsView.as_view(), name="api_scoring_faults"),
]
