"""One child of the launcher: its log, its second chances, what it leaves behind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from config import launch, processes
from config.guardian import Guardian
from config.processes import Child, Failed, Service

Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture
def guardian(home: Path) -> Guardian:
    return Guardian(home)


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Time that stands still until the returned function moves it."""
    now = 0.0

    def advance(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: now))
    return advance


def _python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_it_keeps_what_the_child_said_and_the_run_before(
    home: Path, guardian: Guardian, eventually: Eventually
) -> None:
    for word in ("first", "second"):
        child = Child("web", _python(f"print('{word}')"), logs=home, guardian=guardian)
        child.start()
        eventually(lambda child=child: child.poll() is not None)
    assert (home / "web.log").read_text() == "second\n"
    assert (home / "web.log.1").read_text() == "first\n"


def test_the_end_of_its_log_says_where_the_rest_is(
    home: Path, guardian: Guardian, eventually: Eventually
) -> None:
    child = Child("web", _python("print(*range(100), sep='\\n')"), logs=home, guardian=guardian)
    child.start()
    eventually(lambda: child.poll() is not None)
    assert child.tail(2) == f"    98\n    99\n    (all of it: {home / 'web.log'})"


def test_a_child_that_ends_takes_its_own_children_along(
    home: Path, guardian: Guardian, eventually: Eventually
) -> None:
    code = "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid)"
    child = Child("web", _python(code), logs=home, guardian=guardian)
    child.start()
    eventually(lambda: child.poll() is not None)
    grandchild = int((home / "web.log").read_text())
    eventually(lambda: not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == "zombie")


def test_a_service_is_started_again_after_a_growing_delay(
    home: Path, guardian: Guardian, eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    service = Service("worker", _python("print('sorry'); raise SystemExit(3)"), logs=home, guardian=guardian)
    service.start()
    for deaths, delay in ((1, 1), (2, 2), (3, 4)):
        eventually(lambda: service.poll() is not None)
        service.tend(said.append)
        assert len(said) == deaths
        assert said[-1].startswith("The worker process ended with status 3:\n    sorry\n")
        assert said[-1].endswith(f"Starting it again in {delay} s.")
        service.tend(said.append)
        assert service.poll() == 3, "not before its time"
        instant(delay)
        service.tend(said.append)
    eventually(lambda: service.poll() is not None)
    with pytest.raises(Failed, match="The worker process ended with status 3"):
        service.tend(said.append)


def test_what_the_rest_can_do_without_is_started_again_for_ever(
    home: Path, guardian: Guardian, eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    service = Service("scoring", _python("raise SystemExit(3)"), logs=home, guardian=guardian)
    service.needed = False
    service.start()
    for delay in (1, 2, 4, 8):
        eventually(lambda: service.poll() is not None)
        service.tend(said.append)
        assert said[-1].endswith(f"Starting it again in {delay} s. The rest of Concord goes on without it.")
        instant(delay)
        service.tend(said.append)
    eventually(lambda: service.poll() is not None)
    service._deaths = 5000
    service.tend(said.append)
    assert f"again in {processes.LONGEST_DELAY:.0f} s." in said[-1]


def test_only_the_workers_with_models_can_be_done_without(
    monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    served: dict[str, bool] = {}
    supervisor = SimpleNamespace(
        complete=lambda *_: None, serve=lambda name, *_, needed=True: served.update({name: needed})
    )
    monkeypatch.setattr(launch, "_start_database", lambda _: None)
    monkeypatch.setattr(launch, "_await_answer", lambda *_, **__: (_ for _ in ()).throw(Failed))
    with pytest.raises(Failed):
        launch._start_and_supervise(supervisor, None, home=home, port=1, with_demo=False)  # type: ignore[arg-type]
    assert served == {"web": True, "worker": True, "scoring": False, "writing": False, "beat": True}


def test_a_service_that_had_come_up_gets_all_its_chances_again(
    home: Path, guardian: Guardian, eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    service = Service("worker", _python("raise SystemExit(3)"), logs=home, guardian=guardian)
    service.start()
    for _ in range(2 * processes.TRIES):
        instant(processes.STEADY_SECONDS)
        eventually(lambda: service.poll() is not None)
        service.tend(said.append)
        instant(1)
        service.tend(said.append)
    assert {line.splitlines()[-1] for line in said} == {"  Starting it again in 1 s."}
