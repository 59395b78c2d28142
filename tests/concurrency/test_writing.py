"""Several workers at writing runs, and dead ones: each text is written once, none is lost, and no pace is exceeded."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from django.db import transaction

from annotation.items import locks, versions
from annotation.models import ReviewCase
from scoring.models import WritingRow, WritingRun
from scoring.runs import liveness
from scoring.runs.liveness import LeaseHolder
from scoring.writing import claims, draft_requests, publishing, worker, writing_runs
from scoring.writing.claims import WRITING
from tests.concurrency.conftest import race_shows
from tests.concurrency.scoring_workers import elsewhere
from tests.scoring.writing_doubles import Echo, study_of, texts, use, writer_of

__all__ = ["use"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.concurrency,
    pytest.mark.usefixtures("use"),
]

WAITING, CLAIMED, DONE, FAILED = WritingRow.State.values


def requested(n: int, **writer: object) -> WritingRun:
    made = writer_of(study_of([f"q{number}" for number in range(n)]), **writer)
    return writing_runs.request(made, actor=None)


def take(run: WritingRun, at_once: int = 4) -> list[int]:
    holder = LeaseHolder()
    holder.hold()
    return claims.claim_batch(run, holder, at_once=at_once)


def take_and_die(run: WritingRun) -> list[int]:
    taken: list[int] = []
    elsewhere(lambda: taken.extend(take(run)))
    return taken


def test_workers_share_a_run_and_write_each_text_once(at_once, use):
    echo = use(Echo())
    run = requested(24)
    at_once([worker.work_on_runs] * 3)
    worker.work_on_runs()  # whoever came late found rows in others' hands
    run.refresh_from_db()
    assert (run.state, run.n_done, run.prompt_tokens) == ("done", 24, 240)
    assert set(Counter(request.key for request in echo.asked).values()) == {1}


def test_without_row_locks_they_would_take_the_same_rows(at_once, unguarded):
    run = requested(24)
    assert not any(taken_twice(at_once, run) for _ in range(3))
    unguarded(claims, "_TAKE", "FOR UPDATE SKIP LOCKED")
    race_shows(lambda: taken_twice(at_once, run))


def taken_twice(at_once, run: WritingRun) -> bool:
    taken = Counter(row for rows in at_once([lambda: take(run, 6)] * 4) for row in rows)
    run.rows.update(state=WAITING, claim=None, attempts=0)
    return max(taken.values()) > 1


def test_what_a_killed_worker_had_in_hand_comes_back_one_by_one_and_is_given_up_after_three():
    run = requested(4)
    assert len(take_and_die(run)) == 4
    assert Counter(run.rows.values_list("state", flat=True)) == {CLAIMED: 4}
    assert claims.next_run(open_writer=None, only=None, skipped=()) == run.pk
    again = [take_and_die(run) for _ in range(2)]
    assert [len(rows) for rows in again] == [1, 1], "what a worker died with is in no other's hand beside"
    run.rows.filter(pk=again[0][0]).update(attempts=3, state=CLAIMED, claim=12345)
    worker.work_on_runs()
    run.refresh_from_db()
    assert (run.state, run.n_done, run.n_failed) == ("done", 3, 1)
    assert run.rows.get(state=FAILED).fault == "worker_died"


def test_a_draft_whose_worker_dies_again_and_again_fails_and_says_so():
    study = study_of(["rain"])
    item = study.items.get()
    case = ReviewCase.objects.create(study=study, item=item, item_version=item.current_version)
    draft = draft_requests.request_draft(case, writer_of(study), actor=None)
    for _ in range(3):
        assert len(take_and_die(WritingRun.objects.get())) == 1
    worker.work_on_runs()
    draft.refresh_from_db()
    assert draft.state == "failed"
    assert "died 3 times" in draft.problem


def test_workers_together_begin_no_more_than_the_pace_allows(at_once):
    run = requested(12, per_minute=20)
    taken = at_once([lambda: take(run)] * 4)
    assert sorted(len(rows) for rows in taken) == [0, 0, 0, 2]


def test_without_the_writers_lock_they_would_begin_more(at_once, unguarded):
    unguarded(claims, "_LOCK_RATE_LIMIT", "FOR NO KEY UPDATE")

    def attempt() -> bool:
        run = requested(12, per_minute=20)
        return sum(len(rows) for rows in at_once([lambda: take(run)] * 4)) > 2

    race_shows(attempt)


def test_a_text_published_while_somebody_corrects_its_item_is_published_before_or_not_at_all(at_once):
    study = study_of(["rain"])
    run = writing_runs.request(writer_of(study), actor=None)
    worker.work_on_runs()
    publishing.publish(run, actor=None)
    begun, may_commit = threading.Event(), threading.Event()

    def correct() -> None:
        with transaction.atomic():
            item = locks.lock_item(study.items.get().pk)
            begun.set()
            may_commit.wait(10)
            versions.make_version(item, {"question": "What falls?"}, actor=None)

    def publish() -> None:
        begun.wait(10)
        threading.Timer(0.2, may_commit.set).start()
        worker.work_on_runs()

    at_once([correct, publish])
    assert texts(study) == {"What falls?": ""}
    assert run.rows.get().fault == "version_changed"


def test_a_worker_that_is_to_end_puts_down_what_it_cannot_finish(use, monkeypatch):
    monkeypatch.setattr(liveness, "STOP_POLL_SECONDS", 0.02)
    monkeypatch.setattr(liveness, "GRACE_SECONDS", 0.05)
    put_down, asked = threading.Event(), threading.Event()

    def script(_: object) -> None:
        asked.set()
        assert put_down.wait(10)

    def put(holder: LeaseHolder) -> None:
        WRITING.release_all(holder)
        put_down.set()

    use(Echo(script=script))
    run = requested(3)
    liveness.run_with_graceful_stop(
        lambda holder: worker.work_on_runs(stopping=asked.is_set, holder=holder),
        release=put,
        stopping=asked.is_set,
    )
    run.refresh_from_db()
    assert (run.state, run.n_done) == ("running", 0)
    assert set(run.rows.values_list("state", "attempts", "claim")) == {(WAITING, 0, None)}
