from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from config import guardian, launch


def test_a_home_has_one_launcher_at_a_time(home: Path) -> None:
    with (
        launch.lock_home(home, address="http://127.0.0.1:8000/", pause=_never),
        pytest.raises(launch.Failed, match=rf"process {os.getpid()}, http://127.0.0.1:8000/"),
    ):
        launch.lock_home(home, address="http://127.0.0.1:8001/", pause=_never)


def test_a_home_is_free_once_its_launcher_has_ended(home: Path) -> None:
    launch.lock_home(home, address="http://127.0.0.1:8000/", pause=_never).close()
    launch.lock_home(home, address="http://127.0.0.1:8001/", pause=_never).close()
    assert (home / "run.lock").read_text() == f"process {os.getpid()}, http://127.0.0.1:8001/\n"


def test_it_waits_until_the_last_runs_children_are_gone(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last_run = (home / guardian.LOCK).open("a")
    fcntl.flock(last_run, fcntl.LOCK_EX)

    launch.lock_home(home, address="http://127.0.0.1:8000/", pause=lambda _: last_run.close()).close()
    assert last_run.closed
    assert capsys.readouterr().err == "Waiting for the processes of an earlier run to end …\n"


def _never(seconds: float) -> None:
    raise AssertionError("there was nothing to wait for")
