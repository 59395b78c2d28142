"""A release cuts where no vote with a lower number can still come, and does not stand in raters' way for it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from django.db import connection, transaction

from analytics.datasets import snapshot, table_files
from annotation.models import Judgment, Study, Task
from tests import factories
from tests.analytics.datasets.released import cut_of
from tests.annotation.importing.reviewing import vote

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.concurrency]


class Slow(threading.Thread):
    """Somebody who has stored a vote and commits it only when told to."""

    def __init__(self, task: Task) -> None:
        super().__init__(daemon=True)
        self.task, self.stored, self.go_on = task, threading.Event(), threading.Event()

    def run(self) -> None:
        with transaction.atomic():
            vote(self.task, 2)
            self.stored.set()
            self.go_on.wait(30)
        connection.close()


@pytest.fixture
def study() -> Study:
    return factories.StudyFactory(overlap=3)


@pytest.fixture
def slow(study: Study) -> Slow:
    slow = Slow(factories.rating_task(study, "slow"))
    slow.start()
    assert slow.stored.wait(30)
    return slow


def test_it_waits_for_a_vote_that_is_stored_and_not_committed(study, slow, tmp_path: Path):
    vote(factories.rating_task(study, "quick"), 4)  # numbered after the other, in sight before it
    waited: list[int] = []

    def on_wait() -> None:
        waited.append(1)
        slow.go_on.set()

    drawn, _ = snapshot.draw_snapshot(study, on_wait=on_wait)
    slow.join(30)
    assert waited
    assert Judgment.objects.filter(study=study, pk__lte=drawn.judgments).count() == 2


def test_what_the_highest_number_in_sight_would_have_cut_grows_afterwards(study, slow):
    """Why it waits: the same line drawn without the lock."""
    vote(factories.rating_task(study, "quick"), 4)
    highest = Judgment.objects.latest("pk").pk
    below = Judgment.objects.filter(study=study, pk__lte=highest)
    before = below.count()
    slow.go_on.set()
    slow.join(30)
    assert (before, below.count()) == (1, 2)


def test_what_comes_while_it_writes_is_not_in_it(study, tmp_path):
    task = factories.rating_task(study, "one")
    vote(task, 4)
    made = cut_of(study)
    vote(task, 2)
    told = table_files.write_release(made, study, out=tmp_path / "one")
    assert told["left_out"]["judgments"] == 1


def test_a_wait_for_the_line_holds_nobody_up_for_long(study, slow, monkeypatch):
    """It gives its place in the row up between attempts: a rater gets through while an import keeps it waiting."""
    monkeypatch.setattr(snapshot, "_RETRY_SECONDS", 0.3)
    through = threading.Event()

    def rate() -> None:
        vote(factories.rating_task(study, "other"), 3)
        through.set()
        connection.close()

    rater = threading.Thread(target=rate, daemon=True)

    def on_wait() -> None:
        if not rater.is_alive() and not through.is_set():
            rater.start()
        if through.wait(0.1):
            slow.go_on.set()

    snapshot.draw_snapshot(study, on_wait=on_wait)
    assert through.is_set()
