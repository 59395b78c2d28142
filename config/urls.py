from __future__ import annotations

from allauth.account.decorators import secure_admin_login
from django.apps import apps
from django.contrib import admin
from django.urls import include, path

from annotation.api.schema import SchemaView

admin.autodiscover()
# Whoever may write allauth's tables could sign in as anybody.
for label in ("account", "socialaccount", "mfa"):
    for model in apps.get_app_config(label).get_models():
        if admin.site.is_registered(model):
            admin.site.unregister(model)
# The admin's own form knows passwords only: whoever is not signed in goes to the page that asks for all there is.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

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
