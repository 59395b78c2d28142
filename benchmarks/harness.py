"""What the benchmarks share: a scratch installation, the machine's facts, the closing line."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil

ROOT = Path(__file__).resolve().parent.parent


def scratch_installation() -> Path:
    """An empty, migrated database with durable settings, in a folder that goes when this process does."""
    sys.path.insert(0, str(ROOT))
    os.environ.pop("DATABASE_URL", None)
    os.environ.update(DJANGO_SETTINGS_MODULE="config.settings", CONCORD_LOG_LEVEL="WARNING")
    from config import scratch

    home = scratch.make_scratch_home(durable=True)
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    return home


@contextlib.contextmanager
def web_server(port: int, *, log: Path) -> Iterator[psutil.Process]:
    """The production web server, started as the product starts it."""
    from config.launch import web_command

    with log.open("wb") as file:
        process = subprocess.Popen(
            web_command(port), cwd=ROOT, stdout=file, stderr=file, start_new_session=True
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}/api/v1/schema/", process)
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the web server ended with status {process.returncode}")
        try:
            urlopen(url, timeout=2).close()
            return
        except OSError as error:
            if getattr(error, "code", 500) < 500:
                return  # it answers; that this request is refused is right
            time.sleep(0.1)
    raise SystemExit("the web server did not answer within 30 s")


def cpu_seconds(*roots: psutil.Process) -> float:
    """User and system time of process trees so far, ended children included."""
    total = 0.0
    for root in roots:
        for process in [root, *root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def percentiles(seconds: list[float]) -> dict[str, float]:
    """p50, p95 and p99 in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"p{p}": round(1000 * ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))], 2)
        for p in (50, 95, 99)
    }


def finish(claim: str, figures: dict[str, Any], targets: dict[str, tuple[float, float, str]]) -> None:
    """Print the closing line. A target is (value, bound, "<=" or ">=")."""
    print(
        json.dumps(
            {
                "claim": claim,
                "machine": {
                    "cores": os.cpu_count(),
                    "processor": platform.processor() or platform.machine(),
                    "python": platform.python_version(),
                },
                "figures": figures,
                "targets": {
                    name: {
                        "value": value,
                        "target": f"{sign} {bound}",
                        "holds": value <= bound if sign == "<=" else value >= bound,
                    }
                    for name, (value, bound, sign) in targets.items()
                },
            }
        )
    )
