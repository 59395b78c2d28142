"""A real worker on a real queue, killed twice: the run completes, and no row is lost or scored twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings
from psycopg.conninfo import make_conninfo

from config import launch
from scoring.metrics import registry
from scoring.models import ScoringRun
from scoring.runs import claims, scoring_runs
from tests.scoring.studies import check_books, study_of
from tests.scoring.worker import SLOW

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3]
ROWS = 40


@pytest.fixture
def database() -> str:
    found = settings.DATABASES["default"]
    wanted = {"host": found["HOST"], "user": found["USER"], "dbname": found["NAME"], "port": found["PORT"]}
    return make_conninfo(**{name: value for name, value in wanted.items() if value})


@pytest.fixture
def start(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Start the worker that ./run starts, in a process group of its own; it does not stand back for other tests."""
    started: list[subprocess.Popen[bytes]] = []
    monkeypatch.setitem(launch._NICENESS, "gpu", 0)
    command = [word.replace("config.celery", "tests.scoring.worker") for word in launch.model_command("gpu")]
    environment = {**os.environ, "DATABASE_URL": database, "CONCORD_HOME": str(tmp_path)}
    environment.pop("CELERY_BROKER_URL", None)

    def begin() -> subprocess.Popen[bytes]:
        with (tmp_path / "worker.log").open("ab") as log:
            started.append(
                subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def sweep(database: str) -> Iterator[Callable[[], None]]:
    """What beat does every ten seconds."""
    options = {"conn_string": database, "init_extension": False, "visibility_timeout": 60}
    sender = Celery("sender", broker="pgmq://", broker_transport_options=options, set_as_current=False)
    with sender.connection_for_write() as broker:

        def wake() -> None:
            for run_id in claims.runs_with_work():
                arguments = {"queue": "gpu", "expires": 15, "connection": broker}
                sender.send_task("scoring.tasks.work_on_run", [run_id], **arguments)

        yield wake


def until(condition: Callable[[], bool], sweep: Callable[[], None]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        sweep()
        time.sleep(0.3)


def test_a_run_outlives_two_killed_workers(start, sweep, monkeypatch):
    monkeypatch.setitem(registry.METRICS, SLOW.name, SLOW)
    texts = [f"word {'more ' * n}" for n in range(ROWS - 2)]
    run = scoring_runs.request(study_of([*texts, "undecodable", "nan"]), "slow", {}, actor=None)

    def done(at_least: int) -> Callable[[], bool]:
        return lambda: ScoringRun.objects.get(pk=run.pk).n_settled >= at_least

    for share in (4, 12):
        worker = start()
        until(done(share), sweep)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    worker = start()
    until(done(ROWS), sweep)
    check_books(run)
    assert (run.state, run.n_done, run.n_failed) == ("done", ROWS - 2, 2)
    assert 1 < run.rows.filter(attempts__gt=1).count() <= 16
    worker.terminate()
    assert worker.wait(15) == 0
