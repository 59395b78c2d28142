from __future__ import annotations

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        from annotation.services import correction_sequels, import_sequels

        import_sequels.SEQUELS.append("scoring.services.prescoring.after_import")
        correction_sequels.SEQUELS.append("scoring.services.writing_sequels.after_correction")
        correction_sequels.SEQUELS.append("scoring.services.prescoring.after_correction")
