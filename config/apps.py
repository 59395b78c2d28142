from __future__ import annotations

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """Makes the project's own system checks known to Django. There are no models here."""

    name = "config"
    verbose_name = "Concord"

    def ready(self) -> None:
        from config import checks  # noqa: F401
