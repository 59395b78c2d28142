"""The web server's command line: the launcher, the end-to-end tests and the benchmarks start the same one."""

from __future__ import annotations

import sys

# WSGI on blocking threads: Django's ORM is synchronous, and a request is mostly waiting for PostgreSQL. Two processes
# of four threads filled two cores with the fewest idle connections (granian 640 judgments/s, gunicorn sync 460).
WORKERS = 2
THREADS = 4


def command(port: int, *, host: str = "127.0.0.1") -> list[str]:
    return [
        sys.executable, "-m", "granian", "config.wsgi:application", "--interface", "wsgi",
        "--host", host, "--port", str(port), "--workers", str(WORKERS), "--blocking-threads", str(THREADS),
        "--no-ws", "--backlog", "1024", "--log-level", "warning", "--respawn-failed-workers",
    ]  # fmt: skip
