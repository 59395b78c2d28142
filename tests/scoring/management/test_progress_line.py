"""How far a run is, on one line of a terminal."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from threading import Event

import pytest
from django.core.management.base import OutputWrapper
from django.utils import timezone

from scoring.management import terminal as management_terminal
from scoring.management.terminal import ProgressLine, describe_run, run_describer
from scoring.models import Scorer, ScoringRun
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


def test_it_tells_how_many_how_fast_how_long_still_and_what_failed():
    assert describe_run(made(n_done=39, n_failed=1)) == "40 of 20000, 2.00 a second, 2:46:20 left, 1 failed"


def test_it_tells_that_the_model_is_not_loaded_yet():
    assert describe_run(made(scorer_id=None)) == "waiting for the model"


def test_before_the_first_batch_it_foretells_nothing():
    assert describe_run(made()) == "0 of 20000"


@pytest.mark.django_db(transaction=True)
def test_the_line_follows_the_run_and_is_wiped_at_the_end(monkeypatch):
    monkeypatch.setattr(management_terminal, "_EVERY_SECONDS", 0.01)
    told = Event()

    class Terminal(StringIO):
        def write(self, text: str) -> int:
            if "7 of 9" in text:
                told.set()
            return super().write(text)

    scorer = Scorer.objects.create(key="m", digest="d")
    run = ScoringRun.objects.create(
        study=factories.StudyFactory(), metric="m", scorer=scorer, n_rows=9, n_done=7
    )
    terminal = Terminal()
    with ProgressLine(run_describer(run), OutputWrapper(terminal), shown=True):
        assert told.wait(10)
    assert terminal.getvalue().endswith("\r" + " " * 79 + "\r")


def test_where_nobody_watches_nothing_is_written():
    terminal = StringIO()
    with ProgressLine(run_describer(made()), OutputWrapper(terminal), shown=False):
        pass
    assert terminal.getvalue() == ""
