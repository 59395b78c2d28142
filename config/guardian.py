"""What stops the children when their parent cannot: `python -m config.guardian FOLDER [--discard]`.

It reads its parent's end of a pipe, where lines `+PID` and `-PID` name the process groups to watch over. The
pipe closes when the parent ends, however it ends. Then every group still named is stopped, and the embedded
database of FOLDER too if nobody else holds it; with --discard the folder goes as well. It runs in a session
of its own, out of reach of the terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

GRACE_SECONDS = 8.0
LOCK = "guardian.lock"


class Guardian:
    """The parent's side."""

    def __init__(self, folder: Path, *, discard: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "config.guardian", str(folder), *(["--discard"] if discard else [])],
            stdin=subprocess.PIPE,
            cwd=Path(__file__).resolve().parent.parent,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        self._tell(f"-{group}\n")

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def dismiss(self) -> None:
        """Close the pipe, as the end of this process would. What is still watched over is stopped."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            return  # dismissed: it works on what it knows
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()


def stop_groups(leaders: Iterable[int], *, grace: float = GRACE_SECONDS) -> None:
    """End each process group: its leader is asked, and ends its own children; what remains is killed."""
    leaders = list(leaders)
    for leader in leaders:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(leader, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and any(_is_alive(leader) for leader in leaders):
        time.sleep(0.05)
    for leader in leaders:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)


def _is_alive(process: int) -> bool:
    """In many containers nobody clears away what has ended, so being listed is not being alive."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _listen() -> set[int]:
    """The groups still named when the pipe closes."""
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        groups.add(group) if line.startswith("+") else groups.discard(group)
    return groups


def main(folder: Path, *, discard: bool) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with (folder / LOCK).open("a") as lock:
        # Whoever starts next in this folder waits for this lock: our children are then surely gone.
        fcntl.flock(lock, fcntl.LOCK_EX)
        stop_groups(_listen())
        if (folder / "postgres").exists():
            from config.postgres.cluster import Cluster

            Cluster(folder).leave()
        if discard:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), discard="--discard" in sys.argv[2:])
