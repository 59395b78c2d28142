"""How far a run is, on one line of a terminal."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from threading import Event

import pytest
from django.core.management.base import BaseCommand, OutputWrapper
from django.utils import timezone

from scoring.management import terminal as management_terminal
from scoring.management.commands.score import describe_run
from scoring.management.terminal import ProgressLine, follow_run
from scoring.models import Scorer, ScoringRun
from scoring.runs.claims import SCORING
from tests import factories


def made(**fields) -> ScoringRun:
    now = timezone.now()
    usual = {
        "state": "running",
        "scorer_id": 1,
        "working_since": now - timedelta(seconds=20),
        "worked_at": now,
    }
    return ScoringRun(metric="m", n_rows=20_000, **{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"n_done": 39, "n_failed": 1}, "40 of 20000, 2.00 a second, 2:46:20 left, 1 failed"),
        ({}, "0 of 20000"),
        ({"scorer_id": None}, "waiting for the model"),
    ],
    ids=["all there is to tell", "no rate before the first batch", "no rows before the model"],
)
def test_the_line_of_a_run(fields, line):
    assert describe_run(made(**fields)) == line


@pytest.mark.django_db(transaction=True)
def test_the_line_follows_the_run_and_is_wiped_at_the_end(monkeypatch):
    told = Event()

    class Terminal(StringIO):
        def write(self, text: str) -> int:
            if "7 of 9" in text:
                told.set()
            return super().write(text)

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(management_terminal, "_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(management_terminal.sys, "stderr", terminal)
    scorer = Scorer.objects.create(key="m", digest="d")
    run = ScoringRun.objects.create(study=factories.StudyFactory(), metric="m", scorer=scorer, n_rows=9)

    def work(run: ScoringRun) -> None:
        ScoringRun.objects.filter(pk=run.pk).update(n_done=7)
        assert told.wait(10)

    follow_run(BaseCommand(stderr=terminal), SCORING, run, work=work, describe=describe_run, how_to_cancel="")
    assert terminal.getvalue().endswith("\r" + " " * 79 + "\r")


def test_where_nobody_watches_nothing_is_written():
    terminal = StringIO()
    with ProgressLine(str, OutputWrapper(terminal), shown=False):
        pass
    assert terminal.getvalue() == ""
