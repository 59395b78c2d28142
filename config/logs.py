"""What is written to the log, and what is no news."""

from __future__ import annotations

from typing import Any

from config import env

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        # A line for each beat, each task and each question put to a model's server, day and night, is no log.
        "httpx2": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        # Reports that a broker inside the database has no host name.
        "kombu.connection": {"level": "ERROR"},
    },
    "root": {"handlers": ["console"], "level": env.text("CONCORD_LOG_LEVEL", "INFO").upper()},
}
