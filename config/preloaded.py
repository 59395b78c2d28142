"""The application, loaded once by the launcher for all processes that it forks: they start at once and share memory.

Nothing here connects to the database or starts a thread before the fork: neither would survive it.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from importlib import import_module

# What the processes would load one by one after the fork: also a parser of C, by which billiard has a process of a pool
# end with its parent.
_MODULES = (
    "billiard.popen_fork", "billiard.sharedctypes", "billiard.synchronize", "celery.app.amqp", "celery.app.control",
    "celery.app.events", "celery.app.log", "celery.app.routes", "celery.apps.worker", "celery.beat",
    "celery.concurrency.prefork", "celery.events.dispatcher", "celery.worker.autoscale", "celery.worker.components",
    "celery.worker.consumer", "celery.worker.loops", "celery.worker.strategy", "cffi.cparser", "config.broker",
    "config.urls", "config.worker", "granian.server.mp",
)  # fmt: skip


def load() -> None:
    """Import the application. DATABASE_URL has to be set."""
    # Nothing of this is garbage, and looking for some took a tenth of the time.
    gc.disable()
    # Where a machine is told to keep no bytecode, each start compiled it all again.
    sys.dont_write_bytecode = False
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from config.celery import app

    for name in _MODULES:
        import_module(name)
    app.loader.import_default_modules()
    app.finalize()


def freeze() -> None:
    """Load what reads what `prepare` makes, and have the collectors of the forks keep off what they share."""
    from django.conf import settings
    from django.template.loader import get_template
    from django.urls import reverse
    from django.utils import translation

    gc.freeze()
    import config.wsgi  # noqa: F401  (lists the static files)

    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            reverse("sign_in")
    get_template("labeling_ui/account/sign_in.html")
    gc.freeze()
    gc.enable()


def make_demo() -> None:
    from django.core.management import call_command

    call_command("create_demo")


def worker() -> None:
    """The worker of the queue `cpu`, with a process for each core, and beat. Not by Celery's commands: with their shell
    they are a hundred and sixty modules."""
    from celery.utils.nodenames import gethostname

    from config.celery import app
    from config.worker import BeatThread

    app.steps["worker"].add(BeatThread)
    worker = app.Worker(
        hostname=f"cpu@{gethostname()}",
        queues=["cpu"],
        pool_cls="prefork",
        concurrency=min(os.cpu_count() or 1, 4),
        loglevel=logging.INFO,
    )
    worker.start()
    raise SystemExit(worker.exitcode)
