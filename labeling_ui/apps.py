from __future__ import annotations

from django.apps import AppConfig


class LabelingUiConfig(AppConfig):
    name = "labeling_ui"
