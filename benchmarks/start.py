"""What starting costs, and what an idle installation holds: `python -m benchmarks.start`.

Starts `./run`'s launcher in an empty home twice: seconds until the first page, memory at rest (PSS of every process,
PostgreSQL's too), processor time and errors of PostgreSQL's log while it rests. Then commands that people use most,
started while that installation runs. With --demo its first start makes the demo studies, as `./run` does;
their figures are computed after the second, so give it --settle 180.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.harness import ROOT, finish, options

# What people type most, as far as it goes without changing anything.
COMMANDS = (
    "help", "check", "migrate --check", "agreement --help", "agreement", "export --help", "import_study --help",
    "release --help", "report --help", "score --help", "plan --help", "createsuperuser --help",
)  # fmt: skip


def main() -> None:
    arguments = options(
        __doc__, port=8390, settle=30.0, rest=60.0, demo=False, repeat=3, study="demo-comparison"
    )
    with tempfile.TemporaryDirectory(prefix="concord-start-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        home.chmod(0o755)
        figures: dict[str, Any] = {}
        with launched(home, arguments.port, demo=arguments.demo) as (_, cost):
            figures["first_page_of_first_start"] = cost
        with launched(home, arguments.port, demo=arguments.demo) as (launcher, cost):
            figures["first_page_of_second_start"] = cost
            time.sleep(arguments.settle)
            get(arguments.port, "/sign-in/")
            figures |= at_rest(launcher, home, arguments.rest)
            figures["commands"] = {
                command: started(command, home, arguments) for command in COMMANDS if arguments.repeat
            }
    finish(
        "a start, and rest after it",
        figures,
        {
            "second_start_s": (figures["first_page_of_second_start"]["s"], 3.0, "<="),
            "pss_mb": (figures["pss_mb"], 350.0, "<="),
            "errors_logged": (figures["errors_logged"], 0.0, "<="),
        },
    )


@contextlib.contextmanager
def launched(home: Path, port: int, *, demo: bool) -> Iterator[tuple[psutil.Process, dict[str, float]]]:
    """The launcher, once it has said where it is, and what the first page took; processor time of all processes."""
    command = [sys.executable, "-m", "config.launch", "--port", str(port), *([] if demo else ["--no-demo"])]
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=environment(home), stdout=subprocess.PIPE, text=True)
    try:
        while get(port, "/") is None:
            if process.poll() is not None:
                raise SystemExit("the launcher ended")
            time.sleep(0.02)
        seconds = time.perf_counter() - begin
        spent = sum(cpu(everything(psutil.Process(process.pid), home)).values())
        assert process.stdout
        process.stdout.readline()
        yield psutil.Process(process.pid), {"s": round(seconds, 2), "cpu_s": round(spent, 2)}
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def environment(home: Path) -> dict[str, str]:
    ours = ("CONCORD_", "DATABASE_URL", "DJANGO_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {
        "CONCORD_HOME": str(home)
    }


def get(port: int, path: str) -> int | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
        return status if status < 500 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def at_rest(launcher: psutil.Process, home: Path, seconds: float) -> dict[str, Any]:
    """Memory, and what `seconds` without anybody at work cost."""
    processes = everything(launcher, home)
    log = home / "postgres" / "log"
    before, logged, busy = time.perf_counter(), log.stat().st_size, cpu(processes)
    time.sleep(seconds)
    minutes = (time.perf_counter() - before) / 60
    spent = sum(cpu(everything(launcher, home)).values()) - sum(busy.values())
    by_kind: dict[str, list[float]] = defaultdict(list)
    for process in (processes := everything(launcher, home)):
        by_kind[kind(process)].append(pss_mb(process))
    with log.open("rb") as file:
        file.seek(logged)
        lines = file.read().decode(errors="replace").splitlines()
    return {
        "pss_mb": round(sum(map(sum, by_kind.values())), 1),
        "pss_mb_by_process": {
            name: [round(mb, 1) for mb in every] for name, every in sorted(by_kind.items())
        },
        "processes": len(processes),
        "cpu_s_per_minute": round(spent / minutes, 2),
        "errors_logged": sum("ERROR" in line or "FATAL" in line for line in lines),
    }


def everything(launcher: psutil.Process, home: Path) -> list[psutil.Process]:
    postmaster = psutil.Process(int((home / "postgres" / "postmaster.pid").read_text().split()[0]))
    return [
        process
        for root in (launcher, postmaster)
        for process in (root, *root.children(recursive=True))
        if process.is_running()
    ]


def kind(process: psutil.Process) -> str:
    """A name for what it does: what it calls itself, or the word after the module it runs."""
    words = process.cmdline()
    if "postgres" in words[0]:
        return "postgres" if words[0].startswith("/") else words[0].rstrip()[:40]
    return (
        process.name()
        if "-m" not in words
        else " ".join([process.name(), *words[words.index("-m") + 1 :]])[:60]
    )


def pss_mb(process: psutil.Process) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def cpu(processes: list[psutil.Process]) -> dict[int, float]:
    total = {}
    for process in processes:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total[process.pid] = times.user + times.system + times.children_user + times.children_system
    return total


def started(command: str, home: Path, arguments: Any) -> dict[str, float]:
    """The median seconds and processor seconds of one command from its start to its end."""
    words = command.split()
    if command == "agreement":
        if not arguments.demo:
            return {}
        words.append(arguments.study)
    seconds, spent = [], []
    for _ in range(arguments.repeat):
        before, begin = os.times(), time.perf_counter()
        subprocess.run(
            [sys.executable, "manage.py", *words], cwd=ROOT, env=environment(home), capture_output=True
        )
        after = os.times()
        seconds.append(time.perf_counter() - begin)
        spent.append(after[2] + after[3] - before[2] - before[3])
    return {"s": round(statistics.median(seconds), 2), "cpu_s": round(statistics.median(spent), 2)}


if __name__ == "__main__":
    main()
