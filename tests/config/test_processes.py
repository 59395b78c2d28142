"""One child of the launcher: its log, its second chances, what it leaves behind; and how a person stops them."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from config import launch, processes
from config.guardian import Guardian
from config.processes import Child, Failed, Interruption, Service, Stop
from tests.config.conftest import Eventually


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


@pytest.fixture
def run(home: Path, guardian: Guardian, eventually: Eventually) -> Callable[..., Child]:
    """A child that runs some Python and has ended."""

    def run(code: str, *, name: str = "web") -> Child:
        child = Child(name, [sys.executable, "-c", code], logs=home, guardian=guardian)
        child.start()
        eventually(lambda: child.poll() is not None)
        return child

    return run


@pytest.fixture
def service(home: Path, guardian: Guardian) -> Callable[..., Service]:
    """A service, started, whose process prints something and fails."""

    def service(name: str, *, needed: bool = True) -> Service:
        code = "print('sorry'); raise SystemExit(3)"
        service = Service(name, [sys.executable, "-c", code], logs=home, guardian=guardian)
        service.needed = needed
        service.start()
        return service

    return service


def test_it_keeps_what_the_child_said_and_the_run_before(home: Path, run: Callable[..., Child]) -> None:
    for word in ("first", "second"):
        run(f"print('{word}')")
    assert (home / "web.log").read_text() == "second\n"
    assert (home / "web.log.1").read_text() == "first\n"


def test_the_end_of_its_log_says_where_the_rest_is(home: Path, run: Callable[..., Child]) -> None:
    child = run("print(*range(100), sep='\\n')")
    assert child.tail(2) == f"    98\n    99\n    (all of it: {home / 'web.log'})"


def test_a_child_that_ends_takes_its_own_children_along(
    home: Path, run: Callable[..., Child], eventually: Eventually
) -> None:
    run("import subprocess; print(subprocess.Popen(['sleep', '1000']).pid)")
    grandchild = int((home / "web.log").read_text())
    eventually(lambda: not psutil.pid_exists(grandchild) or psutil.Process(grandchild).status() == "zombie")


def test_a_service_is_started_again_after_a_growing_delay(
    service: Callable[..., Service], eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    worker = service("worker")
    for deaths, delay in ((1, 1), (2, 2), (3, 4)):
        eventually(lambda: worker.poll() is not None)
        worker.tend(said.append)
        assert len(said) == deaths
        assert said[-1].startswith("The worker process ended with status 3:\n    sorry\n")
        assert said[-1].endswith(f"Starting it again in {delay} s.")
        worker.tend(said.append)
        assert worker.poll() == 3, "not before its time"
        instant(delay)
        worker.tend(said.append)
    eventually(lambda: worker.poll() is not None)
    with pytest.raises(Failed, match="The worker process ended with status 3"):
        worker.tend(said.append)


def test_what_the_rest_can_do_without_is_started_again_for_ever(
    service: Callable[..., Service], eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    scoring = service("scoring", needed=False)
    for delay in (1, 2, 4, 8):
        eventually(lambda: scoring.poll() is not None)
        scoring.tend(said.append)
        assert said[-1].endswith(f"Starting it again in {delay} s. The rest of Concord goes on without it.")
        instant(delay)
        scoring.tend(said.append)
    eventually(lambda: scoring.poll() is not None)
    scoring._deaths = 5000
    scoring.tend(said.append)
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
    service: Callable[..., Service], eventually: Eventually, instant: Callable[[float], None]
) -> None:
    said: list[str] = []
    worker = service("worker")
    for _ in range(2 * processes.TRIES):
        instant(processes.STEADY_SECONDS)
        eventually(lambda: worker.poll() is not None)
        worker.tend(said.append)
        instant(1)
        worker.tend(said.append)
    assert {line.splitlines()[-1] for line in said} == {"  Starting it again in 1 s."}


# The person at the terminal.

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_pause_and_every_later_one(number: signal.Signals) -> None:
    interruption = Interruption()
    interruption.pause(0)
    os.kill(os.getpid(), number)
    for _ in range(2):
        with pytest.raises(Stop):
            interruption.pause(1000)


@pytest.mark.usefixtures("_handlers")
def test_the_end_of_the_terminal_is_ignored_under_nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    os.kill(os.getpid(), signal.SIGHUP)
    interruption.pause(0)
