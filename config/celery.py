"""The Celery application: `celery -A config.celery worker`."""

from __future__ import annotations

import os

from celery import Celery

from config import postgres

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
postgres.ensure()

app = Celery("concord")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# annotation keeps the tasks of each room in the room.
app.autodiscover_tasks(
    [
        "annotation.api",
        "annotation.jobs",
        "annotation.mail",
        "annotation.rating",
        "annotation.review",
        "annotation.webhooks",
    ]
)
