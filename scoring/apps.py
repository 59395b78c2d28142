from __future__ import annotations

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        from annotation.rules.flag_rules import MODEL_CONFLICT
        from annotation.services import correction_sequels, flag_queries, flag_sweeps, import_sequels
        from scoring.services import conflicts

        import_sequels.SEQUELS.append("scoring.services.prescoring.after_import")
        correction_sequels.SEQUELS.append("scoring.services.writing_sequels.after_correction")
        correction_sequels.SEQUELS.append("scoring.services.prescoring.after_correction")
        flag_queries.BUILDERS[MODEL_CONFLICT] = "scoring.services.conflicts.query"
        flag_sweeps.SOURCES["scores"] = conflicts.NEW_SCORES
