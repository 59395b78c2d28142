from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

from annotation.api.schema import SchemaView

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/v1/", include("annotation.api.urls")),
    path("api/v1/", include("scoring.urls")),
    path("api/v1/", include("analytics.urls")),
    path("api/v1/schema/", SchemaView.as_view(), name="api_schema"),
    path("", include("labeling_ui.urls")),
]

handler400 = "labeling_ui.domain_errors.bad_request"
handler403 = "annotation.api.errors.permission_denied"
handler404 = "annotation.api.errors.page_not_found"
handler500 = "annotation.api.errors.server_error"
