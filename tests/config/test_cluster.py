"""The embedded server's life: who keeps it up, who stops it, and what a crash leaves behind."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import psycopg
import pytest

from config.postgres.cluster import Cluster
from tests.config.conftest import Eventually

HOLD = """
import sys
from pathlib import Path
from urllib.parse import unquote
from config.postgres.cluster import Cluster
cluster = Cluster(Path(sys.argv[1]))
cluster.hold()
print("holding", flush=True)
sys.stdin.read()
cluster.leave()
"""


@pytest.fixture
def cluster(home: Path) -> Iterator[Cluster]:
    cluster = Cluster(home, {"fsync": "off"})
    yield cluster
    cluster.leave()


@pytest.fixture
def other_holder(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"holding\n"
    yield process
    process.kill()
    process.communicate()


def test_it_serves_from_a_folder_with_a_space_in_its_name(cluster: Cluster) -> None:
    cluster.hold()
    with psycopg.connect(cluster.url("postgres")) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)
        assert connection.execute("SHOW data_directory").fetchone() == (str(cluster.data),)


def test_only_its_own_account_reaches_it(cluster: Cluster) -> None:
    cluster.hold()
    socket = next(cluster.data.glob(".s.PGSQL.*[0-9]"))
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700


def test_it_serves_where_the_path_is_too_long_for_a_socket(home: Path) -> None:
    folder = home / ("long" * 20) / ("long" * 20)
    folder.mkdir(parents=True)
    cluster = Cluster(folder, {"fsync": "off"})
    cluster.hold()
    try:
        with psycopg.connect(cluster.url("postgres")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        elsewhere = unquote(cluster.url("postgres").partition("?host=")[2])
        cluster.leave()
        shutil.rmtree(elsewhere)


def test_it_stops_with_its_last_holder(cluster: Cluster) -> None:
    cluster.hold()
    cluster.leave()
    assert cluster.postmaster() is None


def test_it_stays_up_while_another_process_holds_it(
    cluster: Cluster, other_holder: subprocess.Popen[bytes]
) -> None:
    cluster.hold()
    cluster.leave()
    assert cluster.postmaster() is not None

    other_holder.communicate()
    assert cluster.postmaster() is None


def test_a_killed_holder_does_not_count(cluster: Cluster, other_holder: subprocess.Popen[bytes]) -> None:
    other_holder.kill()
    other_holder.wait()
    assert cluster.postmaster() is not None

    cluster.hold()
    cluster.leave()
    assert cluster.postmaster() is None


def test_a_forked_child_does_not_stop_its_parents_server(cluster: Cluster) -> None:
    cluster.hold()
    child = os.fork()
    if child == 0:
        cluster.leave()
        os._exit(0)
    os.waitpid(child, 0)
    assert cluster.postmaster() is not None


def test_it_starts_although_the_number_it_left_now_means_another_program(cluster: Cluster) -> None:
    cluster.hold()
    cluster.leave()
    (cluster.data / "postmaster.pid").write_text(f"{os.getpid()}\n{cluster.data}\n0\n5432\n\n\n\nready\n")
    cluster.hold()
    assert cluster.postmaster() is not None


def test_it_starts_over_after_an_interrupted_creation(cluster: Cluster, home: Path) -> None:
    (home / "postgres.making").mkdir()
    (home / "postgres.making" / "PG_VERSION").write_text("18")
    cluster.hold()
    assert cluster.postmaster() is not None


def test_it_revives_a_server_that_died(cluster: Cluster, eventually: Eventually) -> None:
    cluster.hold()
    assert cluster.revive() is False

    process = cluster.postmaster()
    assert process is not None
    backends = process.children()
    process.send_signal(signal.SIGKILL)
    eventually(lambda: not any(backend.is_running() for backend in backends))
    assert cluster.revive() is True
    with psycopg.connect(cluster.url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
