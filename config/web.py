"""The web server's command line: the launcher, the end-to-end tests and the benchmarks start the same one."""

from __future__ import annotations

import sys

# WSGI on blocking threads: Django's ORM is synchronous, and a request is mostly waiting for PostgreSQL. In a bare
# sketch of the hot requests two processes of four threads served 640 judgments/s on two cores, gunicorn's sync
# workers 460.
WORKERS = 2
THREADS = 4
HOST = "127.0.0.1"


def command(port: int, *, host: str = HOST) -> list[str]:
    return [
        sys.executable, "-m", "granian", "config.wsgi:application", "--interface", "wsgi", "--http", "1", "--no-ws",
        "--host", host, "--port", str(port), "--backlog", "1024", "--log-level", "warning",
        "--workers", str(WORKERS), "--blocking-threads", str(THREADS),
        # A thread holds its database connection; ended when idle, it would cost the next rater a new one.
        "--blocking-threads-idle-timeout", "600",
        # A worker that dies is replaced; one that cannot start at all ends the server, and the launcher says why.
        "--respawn-failed-workers", "--respawn-interval", "1", "--workers-kill-timeout", "5",
    ]  # fmt: skip
