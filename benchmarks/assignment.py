"""Hidden checks under load and fire: raters over HTTP who disconnect, answer late or twice, or let leases run out,
while a web process, a worker and PostgreSQL are killed (SIGKILL). Nothing may be lost, doubled or over-assigned, checks
come where the rule says, and leases that ran out are handed out again within a minute.

    python -m benchmarks.assignment [--raters 200] [--seconds 60] [--size 100000] [--port 8199]

Runs client, server, worker and PostgreSQL on the same cores. `--size` is the number of tasks of the large study.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from benchmarks import harness, raters

OVERLAP = 3
SMALL = 1000
N_GOLD = 40
CHECKS = {"gold": 0.06, "repeat": 0.06, "least_between": 3, "repeat_after": 10}
ROUNDS, ROUND_SECONDS, CALM_RATERS = 7, 2.0, 8
REISSUE_LIMIT_S = 60
OVER_ASSIGNED = (
    "SELECT count(*) FROM annotation_task t LEFT JOIN (SELECT task_id, count(*) n FROM annotation_judgment"
    " WHERE study_id = %(study)s AND effective GROUP BY 1) j ON j.task_id = t.id WHERE t.study_id = %(study)s"
    " AND t.kind = 1 AND (coalesce(j.n, 0) + t.n_leases > t.overlap OR coalesce(j.n, 0) <> t.n_judgments)"
)
DOUBLED = (
    "SELECT count(*) FROM (SELECT task_id, rater_id FROM annotation_judgment WHERE study_id = %(study)s AND effective"
    " GROUP BY 1, 2 HAVING count(*) > 1) twice"
)
LOST = (
    "SELECT count(*) FROM unnest(%(ids)s::uuid[]) v(id) WHERE NOT EXISTS (SELECT FROM annotation_judgment j"
    " WHERE j.study_id = %(study)s AND j.client_id = v.id)"
)
GRANTED = (
    "SELECT a.rater_id, array_agg(t.kind ORDER BY a.leased_at) FROM annotation_assignment a"
    " JOIN annotation_task t ON t.id = a.task_id WHERE t.study_id = %(study)s GROUP BY 1"
)


def main() -> None:
    arguments = harness.options(__doc__, raters=200, seconds=60.0, size=100_000, port=8199)
    home = harness.scratch_installation()
    with harness.web_server(arguments.port, log=home / "web.log") as server, worker(home) as tasks:
        measured: dict[str, Any] = {"speed": compare_speed(arguments.port)}
        for n_tasks in (SMALL, arguments.size):
            measured[f"{n_tasks} tasks"] = under_fire(n_tasks, server, tasks, home, arguments)
    claim = "checks come as set at no cost, and no vote is lost, doubled or over-assigned when processes are killed"
    harness.finish(claim, measured, targets(measured))


# ── Speed ────────────────────────────────────────────────────────────────────


def compare_speed(port: int) -> dict[str, Any]:
    """Next-task latency with and without checks, by turns in one run; the median round of each."""
    cases = {}
    for name, checks in (("without", False), ("with", True)):
        study, cookies = make_study(f"speed-{name}", n_tasks=20_000, n_raters=CALM_RATERS, checks=checks)
        cases[name] = (study, cookies)
        raters.run(port, study.slug, cookies, seconds=2)  # connections opened, statements prepared
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, (study, cookies) in cases.items():
            seen, elapsed = raters.run(port, study.slug, cookies, seconds=ROUND_SECONDS)
            rounds[name].append(seen.figures(elapsed))
    return {name: raters.median_round(runs) for name, runs in rounds.items()}


def make_study(slug: str, *, n_tasks: int, n_raters: int, checks: bool) -> tuple[Any, list[str]]:
    from annotation.checks.settings import set_injection
    from annotation.models import GoldKey, Study, Task
    from benchmarks import study_rows

    study = study_rows.make_study(slug, n_tasks=n_tasks + N_GOLD, overlap=OVERLAP)
    gold = list(Task.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)[:N_GOLD])
    Task.objects.filter(pk__in=gold).update(kind=Task.Kind.GOLD)
    GoldKey.objects.bulk_create(GoldKey(task_id=pk, question_key="correctness", value=4) for pk in gold)
    Study.objects.filter(pk=study.pk).update(n_tasks=n_tasks)
    if checks:
        set_injection(study, actor=None, **CHECKS)
    return study, study_rows.make_raters(study, n_raters)


# ── Under fire ───────────────────────────────────────────────────────────────


@dataclass
class Log:
    """What the raters were told."""

    acknowledged: list[str] = field(default_factory=list)
    errors: int = 0
    refused: list[str] = field(default_factory=list)


@contextlib.contextmanager
def worker(home: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The worker that ends leases, with its clock, as processes of their own; a killed one is started again."""
    started: list[subprocess.Popen[bytes]] = [start_worker(home)]
    try:
        yield started
    finally:
        kill_tree(started[-1].pid)


def start_worker(home: Path) -> subprocess.Popen[bytes]:
    command = (
        sys.executable,
        "-m",
        "celery",
        "-A",
        "config.celery",
        "worker",
        "-Q",
        "cpu",
        "--beat",
        "-c",
        "1",
    )
    quiet = ("--without-gossip", "--without-mingle", "-s", str(home / f"beat-{time.time():.0f}"))
    with (home / "worker.log").open("ab") as file:
        return subprocess.Popen(
            [*command, *quiet], cwd=harness.ROOT, stdout=file, stderr=file, start_new_session=True
        )


def kill_tree(pid: int) -> None:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        for process in [*root.children(recursive=True), root]:
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)


def under_fire(
    n_tasks: int,
    server: psutil.Process,
    tasks: list[subprocess.Popen[bytes]],
    home: Path,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    study, cookies = make_study(f"fire-{n_tasks}", n_tasks=n_tasks, n_raters=arguments.raters, checks=True)
    log = Log()
    asyncio.run(_fire(study, cookies, log, server, tasks, home, arguments))
    reissued = seconds_to_reissue(study)
    return {
        "votes": len(log.acknowledged),
        "failed_requests": log.errors,
        "refused": len(log.refused),
        "refusals": sorted(set(log.refused))[:3],
        "reissued_after_s": reissued,
        **verify(study, log.acknowledged),
    }


async def _fire(
    study: Any,
    cookies: list[str],
    log: Log,
    server: psutil.Process,
    tasks: list[subprocess.Popen[bytes]],
    home: Path,
    arguments: argparse.Namespace,
) -> None:
    until = time.perf_counter() + arguments.seconds
    working = [
        asyncio.create_task(rate(arguments.port, study.slug, cookie, until=until, log=log, seed=n))
        for n, cookie in enumerate(cookies)
    ]
    for number, shoot in enumerate((kill_web, kill_worker, kill_database), start=1):
        await asyncio.sleep(max(0.0, until - arguments.seconds * (1 - number / 4) - time.perf_counter()))
        await asyncio.to_thread(shoot, server, tasks, home)
    await asyncio.gather(*working)


def kill_web(server: psutil.Process, tasks: list[subprocess.Popen[bytes]], home: Path) -> None:
    """One of the server's processes; the server replaces it."""
    children = [one for one in server.children(recursive=True) if "granian" in " ".join(one.cmdline())]
    (children or server.children())[0].send_signal(signal.SIGKILL)


def kill_worker(server: psutil.Process, tasks: list[subprocess.Popen[bytes]], home: Path) -> None:
    kill_tree(tasks[-1].pid)
    tasks.append(start_worker(home))


def kill_database(server: psutil.Process, tasks: list[subprocess.Popen[bytes]], home: Path) -> None:
    """The postmaster, whose children end with it; started again as the launcher would."""
    postmaster = int((home / "postgres" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGKILL)
    from config.postgres.cluster import Cluster

    for _ in range(60):  # its children hold the memory until they have noticed
        time.sleep(1)
        with contextlib.suppress(subprocess.CalledProcessError):
            if Cluster(home).revive():
                return


async def rate(port: int, slug: str, cookie: str, *, until: float, log: Log, seed: int) -> None:
    """A rater with a bad line: whatever fails is sent again under the same name until it is acknowledged."""
    chance = random.Random(seed)
    while time.perf_counter() < until:
        try:
            async with raters.Browser(port, cookie) as browser:
                while time.perf_counter() < until:
                    if not await asyncio.wait_for(_one_task(browser, slug, log, chance), 20):
                        return
                    if chance.random() < 0.02:
                        break  # the line breaks; another connection goes on
        except (OSError, EOFError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            log.errors += 1
            await asyncio.sleep(0.2 + chance.random())


async def _one_task(browser: raters.Browser, slug: str, log: Log, chance: random.Random) -> bool:
    status, body = await browser.post(f"/api/v1/studies/{slug}/next/", b"{}")
    if status >= 500:
        raise OSError
    if status != 200:
        log.refused.append(f"next {status} {body[:120]!r}")
        return False
    assignment = json.loads(body)["assignment"]
    if assignment is None:
        return False
    path = f"/api/v1/assignments/{assignment['id']}"
    if chance.random() < 0.03:
        await browser.post(f"{path}/give-back/", b"{}")
        return True
    if chance.random() < 0.05:
        expire(assignment["id"])
        if chance.random() < 0.5:
            return True  # never answered
        await asyncio.sleep(chance.random() * 12)  # answered late, before or after the sweep
    vote = json.dumps(
        {
            "client_id": str(uuid.uuid4()),
            "answers": [{"question": "correctness", "value": chance.randint(1, 5)}],
        }
    ).encode()
    for _ in range(2 if chance.random() < 0.1 else 1):
        status, body = await browser.post(f"{path}/judgment/", vote)
        if status >= 500:
            raise OSError
        if status not in (200, 201):
            log.refused.append(f"submit {status} {body[:120]!r}")
            return True
        log.acknowledged.append(json.loads(vote)["client_id"])
    return True


def expire(assignment_id: str) -> None:
    """As if the rater had gone away: the lease runs out now. Over a connection of its own, whatever becomes of it."""
    import psycopg

    with (
        contextlib.suppress(psycopg.Error),
        psycopg.connect(os.environ["DATABASE_URL"], connect_timeout=2) as own,
    ):
        own.execute(
            "UPDATE annotation_assignment SET expires_at = now() WHERE id = %s AND state = 1", [assignment_id]
        )


# ── What was left ────────────────────────────────────────────────────────────


def seconds_to_reissue(study: Any) -> float:
    """Until all leases that run out at one moment are open to others again."""
    from django.db import connection
    from django.utils import timezone

    from annotation.models import Assignment

    connection.close()
    held = Assignment.objects.filter(task__study=study, state=Assignment.State.OPEN)
    held.update(expires_at=timezone.now())
    started = time.monotonic()
    while held.exists() and time.monotonic() - started < 2 * REISSUE_LIMIT_S:
        time.sleep(0.5)
    return round(time.monotonic() - started, 1)


def verify(study: Any, acknowledged: list[str]) -> dict[str, Any]:
    """Lost, doubled and over-assigned votes; checks nearer than set, or where the rule has none."""
    from django.db import connection

    from annotation.checks import rules
    from annotation.models import CheckOutcome, Judgment, Rater

    counts: dict[str, Any] = {}
    params = {"study": study.pk, "ids": acknowledged}
    injection = rules.Injection(**CHECKS)  # type: ignore[arg-type]
    with connection.cursor() as cursor:
        for name, query in (("lost", LOST), ("doubled", DOUBLED), ("over_assigned", OVER_ASSIGNED)):
            cursor.execute(query, params)
            counts[name] = int(cursor.fetchone()[0])
        cursor.execute(GRANTED, params)
        granted = dict(cursor.fetchall())
    n_drawn = dict(Rater.objects.filter(study=study).values_list("pk", "n_drawn"))
    too_near = misplaced = n_checks = 0
    for rater, kinds in granted.items():
        places = [place for place, kind in enumerate(kinds) if kind != 1]
        n_checks += len(places)
        too_near += sum(b - a - 1 < CHECKS["least_between"] for a, b in pairwise(places))
        misplaced += len(kinds) != n_drawn[rater]
        misplaced += sum(
            rules.check_at(injection, place, seed=study.seed, rater=rater) is None for place in places
        )
    judged = Judgment.objects.filter(study=study, effective=True).exclude(task__kind=1)
    return {
        **counts,
        "checks": n_checks,
        "checks_too_near": too_near,
        "checks_misplaced": misplaced,
        "checks_without_outcome": judged.count() - CheckOutcome.objects.filter(rater__study=study).count(),
    }


def targets(measured: dict[str, Any]) -> harness.Targets:
    speed = measured["speed"]
    fires = [run for name, run in measured.items() if name != "speed"]
    zeros = (
        "lost",
        "doubled",
        "over_assigned",
        "checks_too_near",
        "checks_misplaced",
        "checks_without_outcome",
    )
    ratio = speed["with"]["turn_ms"]["p95"] / speed["without"]["turn_ms"]["p95"]
    return {
        **{name: (sum(run[name] for run in fires), 0, "<=") for name in zeros},
        "reissued_after_s": (max(run["reissued_after_s"] for run in fires), REISSUE_LIMIT_S, "<="),
        "turn_p95_with_checks_over_without": (round(ratio, 2), 1.2, "<="),
    }


if __name__ == "__main__":
    main()
