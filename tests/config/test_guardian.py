"""What happens to the children when the launcher ends without a word."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil

from config.guardian import stop_groups
from tests.config.conftest import Eventually

# Starts a child that starts a grandchild, and tells both numbers.
PARENT = """
import subprocess, sys, time
from pathlib import Path
from config.guardian import Guardian

CHILD = '''
import subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
print(grandchild.pid, flush=True)
time.sleep(1000)
'''
guardian = Guardian(Path(sys.argv[1]), discard=sys.argv[2] == "discard")
child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, start_new_session=True)
guardian.watch(child.pid)
if sys.argv[2] == "forget":
    guardian.forget(child.pid)
print(child.pid, child.stdout.readline().decode().strip(), flush=True)
time.sleep(1000)
"""


def _kill_parent(home: Path, ending: str = "keep") -> list[psutil.Process]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(home), ending], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout
    family = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    return family


def _ended(process: psutil.Process) -> bool:
    # Orphans stay as zombies where nothing reaps them, as in many containers.
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_it_ends_children_and_grandchildren_of_a_killed_parent(home: Path, eventually: Eventually) -> None:
    family = _kill_parent(home)
    eventually(lambda: all(_ended(process) for process in family))


def test_it_kills_what_does_not_end_when_asked() -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(1000)"
    deaf = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert deaf.stdout
    deaf.stdout.readline()
    stop_groups([deaf.pid], grace=0.2)
    assert deaf.wait() == -signal.SIGKILL


def test_it_leaves_alone_what_it_was_told_to_forget(home: Path, eventually: Eventually) -> None:
    bystanders = _kill_parent(home, "forget")
    family = _kill_parent(home)
    eventually(lambda: all(_ended(process) for process in family))
    try:
        assert not any(_ended(process) for process in bystanders)
    finally:
        for process in bystanders:
            process.kill()


def test_it_discards_a_scratch_folder(home: Path, eventually: Eventually) -> None:
    _kill_parent(home, "discard")
    eventually(lambda: not home.exists())
