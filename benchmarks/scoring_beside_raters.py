"""Raters at work while models score: how long they wait with no scorer, with one that never rests, with a slow one.

    python -m benchmarks.scoring_beside_raters [--seconds 10] [--raters 4] [--rounds 3] [--port 8197]

Client, server, PostgreSQL and the worker, started as ./run starts it, share the machine. The scorers are dummies: one
multiplies matrices all the time, one takes a minute for each row. The cases take turns, so that what differs is they.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import harness, raters

CASES = ("no scorer", "busy scorer", "slow scorer")
TASKS = 20_000


def main() -> None:
    arguments = harness.options(__doc__, seconds=10.0, raters=4, rounds=3, port=8197)
    home = harness.scratch_installation()
    with harness.web_server(arguments.port, log=home / "web.log"):
        figures = report(measure(home, arguments))
    targets: harness.Targets = {}
    for case in CASES[1:]:
        beside = figures[case]
        targets |= {
            f"{case}: turn p95, ms": (beside["turn_ms"]["p95"], 300, "<="),
            f"{case}: turn p95 over that without": (beside["turn_p95_over_none"], 1.5, "<="),
        }
    targets["refused"] = (sum(figures[case]["refused"] for case in CASES), 0, "<=")
    harness.finish("raters do not feel that models score", figures, targets)


def measure(home: Path, arguments: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    from benchmarks import study_rows

    study = study_rows.make_study("beside", n_tasks=TASKS, overlap=100, clip=_clip())
    cookies = study_rows.make_raters(study, arguments.raters)
    raters.run(arguments.port, study.slug, cookies, seconds=4)  # connections opened, statements prepared
    rounds: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
    for _ in range(arguments.rounds):
        for case in CASES:
            with scoring(case, study, log=home / "scoring.log") as run:
                before = _n_done(run)
                seen, elapsed = raters.run(arguments.port, study.slug, cookies, seconds=arguments.seconds)
                scored = _n_done(run) - before
            rounds[case].append({**seen.figures(elapsed), "rows_scored_per_s": round(scored / elapsed, 1)})
    return rounds


@contextlib.contextmanager
def scoring(case: str, study: Any, *, log: Path) -> Iterator[Any]:
    """A worker that is in the midst of a run; in the first case there is neither."""
    from annotation.errors import DomainError
    from benchmarks.inputs.scoring_worker import DUMMY
    from config.launch import model_command
    from scoring.runs import scoring_runs
    from scoring.runs.claims import SCORING
    from scoring.tasks import work_on_run

    if case == "no scorer":
        yield None
        return
    options = {"slow": case == "slow scorer"}
    run = scoring_runs.request(study, DUMMY.name, options, again=True, actor=None, wake=False)
    command = [
        word.replace("config.celery", "benchmarks.inputs.scoring_worker") for word in model_command("gpu")
    ]
    with log.open("ab") as file:
        worker = subprocess.Popen(command, cwd=harness.ROOT, stdout=file, stderr=file, start_new_session=True)
    try:
        work_on_run.delay(run.pk)
        deadline = time.monotonic() + 60
        while not SCORING.has_live_worker(run.pk):
            run.refresh_from_db()
            if time.monotonic() > deadline or worker.poll() is not None or run.is_finished:
                raise SystemExit(
                    f"the worker is not at it: {run.state} {run.message}\n{log.read_text()[-3000:]}"
                )
            time.sleep(0.1)
        yield run
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        with contextlib.suppress(DomainError):  # finished
            scoring_runs.cancel(run, actor=None)


def report(rounds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    figures: dict[str, Any] = {case: raters.median_round(runs) for case, runs in rounds.items()}
    for case in CASES[1:]:
        for what in ("turn",):
            for share in ("p50", "p95"):
                ratio = figures[case][f"{what}_ms"][share] / figures[CASES[0]][f"{what}_ms"][share]
                figures[case][f"{what}_{share}_over_none"] = round(ratio, 2)
    return figures


def _n_done(run: Any) -> int:
    if run is None:
        return 0
    run.refresh_from_db()
    return int(run.n_done)


def _clip() -> Any:
    """A clip's row: nobody opens its file."""
    from annotation.models import Clip

    return Clip.objects.create(
        sha256="0" * 64, canonical_sha256="0" * 64, source_codec="flac", source_sample_rate=48_000, channels=1,
        n_samples=480_000, duration_s=10.0, n_bytes=1, peaks=b"",
    )  # fmt: skip


if __name__ == "__main__":
    main()
