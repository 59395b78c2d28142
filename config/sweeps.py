"""What beat starts, and every how many seconds. Each sweep is safe to run twice, and to leave out once."""

from __future__ import annotations

from typing import Any

SCHEDULE: dict[str, dict[str, Any]] = {
    "expire-leases": {"task": "annotation.tasks.expire_leases", "schedule": 10.0},
    "forget-kept-answers": {"task": "annotation.tasks.forget_kept_answers", "schedule": 3600.0},
    "wake-stale-jobs": {"task": "annotation.tasks.wake_stale_jobs", "schedule": 15.0},
    "refresh-figures": {"task": "analytics.tasks.refresh_figures", "schedule": 20.0},
    "expire-claims": {"task": "annotation.tasks.expire_claims", "schedule": 30.0},
    "sweep-flags": {"task": "annotation.tasks.sweep_flags", "schedule": 60.0},
    "sweep-stopping": {"task": "annotation.tasks.sweep_stopping", "schedule": 10.0},
    "sweep-webhooks": {"task": "annotation.tasks.sweep_webhooks", "schedule": 5.0},
    "sweep-hints": {"task": "scoring.tasks.sweep_hints", "schedule": 10.0},
    "settle-returns": {"task": "annotation.tasks.settle_returns", "schedule": 30.0},
    "reckon-priorities": {"task": "scoring.tasks.reckon_priorities", "schedule": 60.0},
    "wake-scoring-runs": {"task": "scoring.tasks.wake_scoring_runs", "schedule": 10.0},
    "wake-writing-runs": {"task": "scoring.tasks.wake_writing_runs", "schedule": 10.0},
}
