from __future__ import annotations

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"
    verbose_name = "Annotation"

    def ready(self) -> None:
        from annotation import bulk_queries  # noqa: F401  # registers its look-up
        from annotation.access import sign_in  # noqa: F401  # connects its receivers
