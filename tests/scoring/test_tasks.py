"""Messages: they wake workers, take turns, and do not pile up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from scoring import tasks
from scoring.models import ScoringRun
from scoring.runs import claims, loaded_metric, scoring_runs, worker
from tests.scoring.doubles import WordCount
from tests.scoring.runs.conftest import _word_count
from tests.scoring.studies import study_of

__all__ = ["_word_count"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(tasks.work_on_run, "delay", found.append)
    return found


def requested() -> ScoringRun:
    return scoring_runs.request(study_of(["a bell"]), "word-count", {}, actor=None)


def test_the_sweep_wakes_runs_with_work_the_longest_waiting_first(sent):
    now = timezone.now()
    just, long_ago, never, over = (requested() for _ in range(4))
    ScoringRun.objects.filter(pk=just.pk).update(worked_at=now)
    ScoringRun.objects.filter(pk=long_ago.pk).update(worked_at=now - timedelta(minutes=1))
    scoring_runs.cancel(over, actor=None)
    tasks.wake_scoring_runs()
    assert sent == [never.pk, long_ago.pk, just.pk]


def test_the_sweep_sends_nothing_while_messages_wait_that_nobody_takes(sent, monkeypatch):
    run = requested()
    monkeypatch.setattr(tasks, "_n_waiting", lambda: tasks.MOST_WAITING)
    tasks.wake_scoring_runs()
    assert sent == []
    monkeypatch.setattr(tasks, "_n_waiting", lambda: tasks.MOST_WAITING - 1)
    tasks.wake_scoring_runs()
    assert sent == [run.pk]


@pytest.mark.parametrize(
    ("more", "stopping", "sends"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_task_sends_itself_on_while_there_is_more_and_the_worker_stays(
    sent, monkeypatch, more, stopping, sends
):
    monkeypatch.setattr(tasks, "work_until_stopped", lambda run_id, stopping: more)
    monkeypatch.setattr(tasks, "is_stopping", lambda: stopping)
    tasks.work_on_run(7)
    assert sent == ([7] if sends else [])


def test_a_worker_stays_longer_with_a_model_that_takes_long_to_load(monkeypatch):
    found: list[float] = []
    monkeypatch.setattr(
        worker._Worker, "work", lambda self, *, until: found.append(until - worker.time.monotonic())
    )
    monkeypatch.setattr(loaded_metric, "load", lambda *_: WordCount())
    for seconds in (0.0, 60.0):
        monkeypatch.setattr(loaded_metric, "loading_seconds", lambda seconds=seconds: seconds)
        worker.work_on_run(requested().pk)
    assert found == [pytest.approx(40.0, abs=1.0), pytest.approx(600.0, abs=1.0)]


def test_a_run_without_rows_to_take_is_left_alone():
    run = requested()
    worker.work_on_run(run.pk)
    ScoringRun.objects.update(state="running")
    assert claims.runs_with_work() == []


# ── Writing ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("to_do", "waiting", "sends"), [(7, 0, 1), (7, 1, 0), (None, 0, 0)])
def test_one_message_at_a_time_wakes_a_worker_that_writes(monkeypatch, to_do, waiting, sends):
    found: list[str] = []
    monkeypatch.setattr(tasks.write_texts, "delay", lambda: found.append("sent"))
    monkeypatch.setattr(tasks.writing_claims, "next_run", lambda **_: to_do)
    monkeypatch.setattr(tasks, "_n_waiting", lambda queue: {tasks.WRITING_QUEUE: waiting}[queue])
    tasks.wake_writing_runs()
    assert len(found) == sends


@pytest.mark.parametrize(
    ("more", "stopping", "sends"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_a_worker_that_writes_goes_on_while_there_is_more(monkeypatch, more, stopping, sends):
    found: list[str] = []
    monkeypatch.setattr(tasks.write_texts, "delay", lambda: found.append("sent"))
    monkeypatch.setattr(tasks.worker, "work_on_runs", lambda **_: more)
    monkeypatch.setattr(tasks, "is_stopping", lambda: stopping)
    tasks.write_texts()
    assert len(found) == sends
