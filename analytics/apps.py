from __future__ import annotations

from django.apps import AppConfig


class AnalyticsConfig(AppConfig):
    name = "analytics"

    def ready(self) -> None:
        from annotation.services import jobs

        jobs.KINDS["export"] = "analytics.services.export_jobs:run"
        jobs.KINDS["release"] = "analytics.services.releases:run"
        jobs.KINDS["training_set"] = "analytics.services.training_set_jobs:run"
        jobs.KINDS["sensitivity"] = "analytics.services.sensitivity_jobs:run"
        jobs.KINDS["report"] = "analytics.services.report_jobs:run"
        jobs.KINDS["review_report"] = "analytics.services.review_report_jobs:run"
        jobs.KINDS["learned_comparison"] = "analytics.services.learned_comparison_jobs:run"
        jobs.KINDS["plan_pilot"] = "analytics.services.plan_jobs:run_pilot"
        jobs.KINDS["plan_simulation"] = "analytics.services.plan_jobs:run_simulation"
        jobs.KINDS["train"] = "analytics.services.training_run:run"
        jobs.WITH_MODELS.add("train")
