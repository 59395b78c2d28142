from __future__ import annotations

from django.apps import AppConfig, apps


class ProjectConfig(AppConfig):
    """Makes the project's own system checks known to Django, and keeps allauth's tables out of the admin: whoever may
    write there could sign in as anybody. There are no models here."""

    name = "config"
    verbose_name = "Concord"

    def ready(self) -> None:
        from django.contrib import admin

        from config import checks  # noqa: F401

        for label in ("account", "socialaccount", "mfa"):
            for model in apps.get_app_config(label).get_models():
                if admin.site.is_registered(model):
                    admin.site.unregister(model)
