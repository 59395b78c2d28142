"""The WSGI application, served by granian."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from config import postgres

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
postgres.ensure()

import config.celery  # noqa: E402, F401  (views that queue work find the application)

application = get_wsgi_application()
