from __future__ import annotations

from django.urls import path

from analytics.api import views

urlpatterns = [
    path("studies/<slug:slug>/agreement/", views.AgreementView.as_view(), name="api_agreement"),
    path("studies/<slug:slug>/exports/", views.ExportsView.as_view(), name="api_exports"),
    path("studies/<slug:slug>/report/", views.ReportView.as_view(), name="api_report"),
    path("exports/<uuid:job_id>/file/", views.ExportFileView.as_view(), name="api_export_file"),
]
