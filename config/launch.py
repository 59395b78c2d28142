"""Everything on one machine, by one command: database, web server, worker, and the demo study on first start.

What these write goes to CONCORD_HOME/logs. Standard output gets one line, with the address, once the server
answers.
"""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from config import demo, env, homes, postgres, web
from config.cluster import Cluster
from config.processes import Failed, Service
from config.supervisor import Supervisor
from config.terminal import Interruption, Stop, say

ANSWER_SECONDS = 90.0

# Linux may give each session an equal share of the processor (autogroup). There `nice` counts within a session only,
# and what is needed is that the session as a whole stands back.
_GENTLY = '{ echo "$0" > /proc/self/autogroup; } 2>/dev/null; exec nice -n "$0" "$@"'
# Nobody waits for a score. For a draft an expert does: on a busy machine its writer gets a tenth of an equal share.
_NICENESS = {"gpu": 19, "review": 10}


class PortTaken(Exception):
    """Another program listens where we were asked to."""


def main() -> int:
    arguments = _parser().parse_args()
    interruption = Interruption()
    home = env.home()
    try:
        with homes.take(home, address=f"http://{web.HOST}:{arguments.port}/", pause=interruption.pause):
            _require_free(arguments.port)
            supervisor = Supervisor(home, interruption=interruption)
            try:
                _run(supervisor, interruption, home=home, port=arguments.port, with_demo=arguments.demo)
            finally:
                say("Stopping …")
                supervisor.stop()
    except Stop:
        say("Stopped; everything is kept.")
        return 0
    except (Failed, PortTaken, homes.Taken) as problem:
        say(str(problem))
    return 1


def _run(
    supervisor: Supervisor, interruption: Interruption, *, home: Path, port: int, with_demo: bool
) -> None:
    """Start everything in order, then keep it running. Ends by raising Stop or Failed."""
    database = _start_database(home)
    supervisor.complete("prepare", sys.executable, "-m", "config.prepare")
    server = supervisor.serve("web", *web.command(port))
    supervisor.serve("worker", *_worker_command())
    # A model too large for this machine kills it again and again, and must not take raters' work along.
    supervisor.serve("scoring", *model_command("gpu"), needed=False)
    supervisor.serve("writing", *model_command("review"), needed=False)
    supervisor.serve("beat", *_celery("beat", "--pidfile=", "--loglevel=INFO"))
    _await_answer(server, interruption, port=port)
    if with_demo:
        demo.ensure(supervisor, home=home)
    print(f"Concord is at http://{web.HOST}:{port}/  {demo.how_to_sign_in()}", flush=True)
    while True:
        interruption.pause(1.0)
        supervisor.tend(database)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./run", description="Start Concord on this machine.")
    parser.add_argument(
        "--port", type=_port, default=8000, help="where to listen, on this machine only (8000)"
    )
    parser.add_argument("--no-demo", dest="demo", action="store_false", help="do not create the demo study")
    return parser


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
    return int(text)


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        # What a server that has just ended leaves behind does not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((web.HOST, port))
        except OSError as error:
            problem = f"Port {port} cannot be used: {error.strerror}."
            raise PortTaken(
                f"{problem} Choose another, for example: ./run --port {port % 65535 + 1}"
            ) from error


def _start_database(home: Path) -> Cluster | None:
    try:
        database = postgres.ensure(home)
    except subprocess.CalledProcessError as error:
        log = home / "postgres" / "log"
        raise Failed(f"The database does not start; its log is {log}.\n{error}") from error
    postgres.require_answer()
    return database


def _worker_command() -> list[str]:
    return _worker("cpu", "--concurrency", str(min(os.cpu_count() or 1, 4)))


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
    while (status := _ask(port)) is None or status >= 500:
        if server.poll() is not None or time.monotonic() > deadline:
            answer = f"answers with status {status}" if status else "does not answer"
            raise Failed(f"The web server {answer}:\n{server.tail()}")
        interruption.pause(0.1)


def _ask(port: int) -> int | None:
    connection = http.client.HTTPConnection(web.HOST, port, timeout=10)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
