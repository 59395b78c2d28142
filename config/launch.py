"""Everything on one machine, by one command: database, web server, worker, and the demo study on first start.

What these write goes to CONCORD_HOME/logs. Standard output gets one line, with the address, once the server
answers.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psycopg

from annotation import demo
from config import env, guardian, postgres
from config.postgres.cluster import Cluster
from config.processes import Failed, Interruption, Service, Stop, Supervisor, say

# One launcher per home folder: who holds it, and the moment after its last holder is truly gone.


def lock_home(home: Path, *, address: str, pause: Callable[[float], None]) -> IO[str]:
    """Hold `home` for as long as the returned file is open. Raises Failed where another launcher runs in this folder.

    A launcher that was killed leaves its guardian to stop its children; `pause` is called while that goes on.
    """
    lock = (home / "run.lock").open("a+")
    if not _try_lock(lock):
        lock.seek(0)
        raise Failed(
            f"Concord already runs from {home}: {lock.read().strip() or 'it is just starting'}.\n"
            "Stop it with Ctrl-C where it was started, or set CONCORD_HOME to another folder."
        )
    lock.truncate(0)
    lock.write(f"process {os.getpid()}, {address}\n")
    lock.flush()
    with (home / guardian.LOCK).open("a") as gone:
        deadline = time.monotonic() + 3 * guardian.GRACE_SECONDS
        if not _try_lock(gone):
            say("Waiting for the processes of an earlier run to end …")
        while not _try_lock(gone):
            if time.monotonic() > deadline:
                raise Failed(f"Processes of an earlier run in {home} do not end; end them, then start again.")
            pause(0.1)
    return lock


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# The demo study on first start: when it is wanted, making it, and who can sign in.


DEMO_ACCOUNTS = tuple(demo.demo_email(role) for role in demo.DEMO_ROLES)
# Stays from the beginning of the making to its end, so that a start that was interrupted is taken up again.
DEMO_UNFINISHED = "demo.unfinished"


def ensure_demo(supervisor: Supervisor, *, home: Path) -> None:
    """Create the demo study in an installation that holds no study yet. Without it the rest still serves."""
    unfinished = home / DEMO_UNFINISHED
    if not demo_is_wanted(unfinished):
        return
    unfinished.touch()
    say("Creating the demo study. This happens once and takes a minute or two.")
    try:
        supervisor.complete("demo", sys.executable, "manage.py", "create_demo")
    except Failed as problem:
        say(f"{problem}\nGoing on without the demo study; the next start tries again, --no-demo does not.")
    else:
        unfinished.unlink()


def demo_is_wanted(unfinished: Path) -> bool:
    """On a first start, or after one that was cut short. Never in production: its password is known to all."""
    if env.flag("CONCORD_HTTPS"):
        return False
    return unfinished.exists() or not _row_exists("SELECT FROM annotation_study")


def sign_in_hint() -> str:
    """The end of the launcher's one line."""
    if _row_exists("SELECT FROM annotation_user WHERE email = %s", DEMO_ACCOUNTS[-1]):
        return f"Sign in as {', '.join(DEMO_ACCOUNTS[:-1])} or {DEMO_ACCOUNTS[-1]}; password {demo.DEMO_PASSWORD}."
    return "There are no demo accounts; make your own with ./run manage createsuperuser."


def _row_exists(query: str, *parameters: str) -> bool:
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        return connection.execute(query + " LIMIT 1", parameters).fetchone() is not None


# The web server's command line: the launcher, the end-to-end tests and the benchmarks start the same one.


# WSGI on blocking threads: Django's ORM is synchronous, and a request is mostly waiting for PostgreSQL. In a bare
# sketch of the hot requests two processes of four threads served 640 judgments/s on two cores, gunicorn's sync
# workers 460.
WEB_WORKERS = 2
WEB_THREADS = 4
HOST = "127.0.0.1"


def web_command(port: int, *, host: str = HOST) -> list[str]:
    return [
        sys.executable, "-m", "granian", "config.wsgi:application", "--interface", "wsgi", "--http", "1", "--no-ws",
        "--host", host, "--port", str(port), "--backlog", "1024", "--log-level", "warning",
        "--workers", str(WEB_WORKERS), "--blocking-threads", str(WEB_THREADS),
        # A thread holds its database connection; ended when idle, it would cost the next rater a new one.
        "--blocking-threads-idle-timeout", "600",
        # A worker that dies is replaced; one that cannot start at all ends the server, and the launcher says why.
        "--respawn-failed-workers", "--respawn-interval", "1", "--workers-kill-timeout", "5",
    ]  # fmt: skip


ANSWER_SECONDS = 90.0

# Linux may give each session an equal share of the processor (autogroup). There `nice` counts within a session only,
# and what is needed is that the session as a whole stands back.
_GENTLY = '{ echo "$0" > /proc/self/autogroup; } 2>/dev/null; exec nice -n "$0" "$@"'
# Nobody waits for a score. For a draft an expert does: on a busy machine its writer gets a tenth of an equal share.
_NICENESS = {"gpu": 19, "review": 10}


def main() -> int:
    arguments = _arguments()
    interruption = Interruption()
    home = env.home()
    try:
        with lock_home(home, address=f"http://{HOST}:{arguments.port}/", pause=interruption.pause):
            _require_free(arguments.port)
            supervisor = Supervisor(home, interruption=interruption)
            try:
                _start_and_supervise(
                    supervisor, interruption, home=home, port=arguments.port, with_demo=arguments.demo
                )
            finally:
                say("Stopping …")
                supervisor.stop()
    except Stop:
        say("Stopped; everything is kept.")
        return 0
    except Failed as problem:
        say(str(problem))
    return 1


def _start_and_supervise(
    supervisor: Supervisor, interruption: Interruption, *, home: Path, port: int, with_demo: bool
) -> None:
    """Start everything in order, then keep it running. Ends by raising Stop or Failed."""
    name_site(port)
    database = _start_database(home)
    supervisor.complete("prepare", sys.executable, "-m", "config.prepare")
    server = supervisor.serve("web", *web_command(port))
    supervisor.serve("worker", *_worker("cpu", "--concurrency", str(min(os.cpu_count() or 1, 4))))
    # A model too large for this machine kills it again and again, and must not take raters' work along.
    supervisor.serve("scoring", *model_command("gpu"), needed=False)
    supervisor.serve("writing", *model_command("review"), needed=False)
    supervisor.serve("beat", *_celery("beat", "--pidfile=", "--loglevel=INFO"))
    _await_answer(server, interruption, port=port)
    if with_demo:
        ensure_demo(supervisor, home=home)
    print(f"Concord is at http://{HOST}:{port}/  {sign_in_hint()}", flush=True)
    while True:
        interruption.pause(1.0)
        supervisor.tend(database)


def name_site(port: int) -> None:
    """Mails of workers link to here, where no other address is set. Behind TLS the settings know a better one."""
    if not env.flag("CONCORD_HTTPS"):
        os.environ.setdefault("CONCORD_SITE_URL", f"http://{HOST}:{port}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run", description="Start Concord on this machine.")
    parser.add_argument(
        "--port", type=_port, default=8000, help="where to listen, on this machine only (8000)"
    )
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="do not create the demo study")
    return parser.parse_args()


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
    return int(text)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        # What a server that has just ended leaves behind does not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            remedy = f"Choose another, for example: ./run --port {port % 65535 + 1}"
            raise Failed(f"Port {port} cannot be used: {error.strerror}. {remedy}") from error


def _start_database(home: Path) -> Cluster | None:
    try:
        database = postgres.ensure(home)
    except subprocess.CalledProcessError as error:
        log = home / "postgres" / "log"
        raise Failed(f"The database does not start; its log is {log}.\n{error}") from error
    postgres.require_answer()
    return database


def model_command(queue: str) -> list[str]:
    """A worker that opens models: one process, so that a model is in memory once and stays there. Raters on the same
    machine come first: it gets what time they leave, and a core stays free of it."""
    threads = env.integer("OMP_NUM_THREADS", max((os.cpu_count() or 1) - 1, 1), minimum=1)
    return [
        "env",
        f"OMP_NUM_THREADS={threads}",
        *("sh", "-c", _GENTLY, str(_NICENESS[queue])),
        *_worker(queue, "--pool", "solo", "--concurrency", "1"),
    ]


def _worker(queue: str, *options: str) -> list[str]:
    # Nothing here asks workers about each other, so they do not gossip: each such channel is a queue to poll.
    quiet = ("--without-gossip", "--without-mingle")
    return _celery("worker", "-Q", queue, "-n", f"{queue}@%h", *options, *quiet, "--loglevel=INFO")


def _celery(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "celery", "-A", "config.celery", *arguments]


def _await_answer(server: Service, interruption: Interruption, *, port: int) -> None:
    """Return once the server answers sensibly. Raises Failed with the end of its log if it does not."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while (status := _http_status(port)) is None or status >= 500:
        if server.poll() is not None or time.monotonic() > deadline:
            answer = f"answers with status {status}" if status else "does not answer"
            raise Failed(f"The web server {answer}:\n{server.tail()}")
        interruption.pause(0.1)


def _http_status(port: int) -> int | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
