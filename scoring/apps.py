from __future__ import annotations

from django.apps import AppConfig


class ScoringConfig(AppConfig):
    name = "scoring"

    def ready(self) -> None:
        from annotation import hooks
        from annotation.review import flag_queries, flagging
        from annotation.review.flag_rules import ModelConflict
        from scoring.policies import conflicts

        hooks.AFTER_IMPORT.append("scoring.policies.prescoring.prescore_imported")
        hooks.AFTER_CORRECTION.append("scoring.writing.writing_runs.rewrite_answers_of_corrected")
        hooks.AFTER_CORRECTION.append("scoring.policies.prescoring.prescore_corrected")
        hooks.AFTER_DELETION.append("scoring.learned.delete_checkpoints_of")
        flag_queries.QUERY_BUILDERS[ModelConflict.key] = conflicts.conflict_query
        flagging.SWEEP_SOURCES["scores"] = conflicts.NEW_SCORES
