"""Several workers at one run: each row is scored once, each run and each model made once. With controls."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import IntegrityError, transaction

from annotation.errors import Conflict
from scoring.models import ScoringRun
from scoring.runs import claims, loaded_metric, model_loading, rows, scoring_runs, worker
from scoring.runs.claims import SCORING
from scoring.runs.liveness import LeaseHolder
from tests.concurrency.conftest import integrity_errors, race_shows
from tests.concurrency.scoring_workers import WAITING, elsewhere, prepared, requested
from tests.scoring.doubles import WordCount
from tests.scoring.studies import add, check_books, run_over, study_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.concurrency,
    pytest.mark.usefixtures("no_model_open"),
]


# ── Several workers ──────────────────────────────────────────────────────────


def test_two_workers_share_a_run_and_score_each_row_once(at_once, use):
    metric = use(WordCount())
    run = prepared(40)
    assert at_once([lambda: worker.work_on_run(run.pk)] * 3) == [False] * 3
    check_books(run)
    assert run.state == "done"
    assert sorted(Counter(key for batch in metric.batches for key in batch).values()) == [1] * 40


def test_without_row_locks_they_would_take_the_same_rows(at_once, unguarded):
    run = prepared(40)
    assert not any(taken_twice(at_once, run) for _ in range(3))
    unguarded(claims, "_TAKE", "FOR UPDATE SKIP LOCKED")
    race_shows(lambda: taken_twice(at_once, run))


def taken_twice(at_once, run: ScoringRun) -> bool:
    """Whether two of many that take rows at once were given the same."""

    def take() -> tuple[int, ...]:
        holder = LeaseHolder()
        holder.hold()
        batch = claims.claim_batch(run, holder, WordCount(limit=10).limits, allow_single=True)
        return batch.rows if batch else ()

    taken = Counter(row for rows in at_once([take] * 4) for row in rows)
    run.rows.update(state=WAITING, claim=None, attempts=0)
    return max(taken.values()) > 1


def test_the_same_run_asked_for_twice_at_once_is_made_once(at_once):
    study = study_of(["a bell"])
    results = at_once([lambda: run_over(study)] * 4)
    assert [type(result) for result in results].count(ScoringRun) == 1
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(refused) == 3
    assert f"Run {ScoringRun.objects.get().pk} of this study" in str(refused[0])


def test_without_the_lock_it_would_be_made_twice(at_once, monkeypatch):
    monkeypatch.setattr(SCORING, "lock_requests", lambda study: None)

    def attempt() -> bool:
        study = study_of(["a bell"])
        at_once([lambda: run_over(study)] * 8)
        return ScoringRun.objects.filter(study=study).count() > 1

    race_shows(attempt)


def test_one_of_two_workers_loads_the_model_of_a_run(at_once, monkeypatch):
    assert loads(at_once, monkeypatch) == 1


def test_without_the_gate_both_would(at_once, monkeypatch):
    @contextmanager
    def open_gate(run_id: int, *, lock: int) -> Iterator[bool]:
        yield True

    monkeypatch.setattr(model_loading, "model_loading_lock", open_gate)
    assert loads(at_once, monkeypatch) == 2


def loads(at_once, monkeypatch) -> int:
    """How often the model is loaded when two workers, each a process of its own, begin at one run."""
    second = threading.Event()
    n = 0

    def slow(metric: str, options: object) -> WordCount:
        nonlocal n
        n += 1
        if n > 1:
            second.set()
        second.wait(0.5)
        return WordCount()

    monkeypatch.setattr(loaded_metric, "load", slow)
    run = requested(3)
    at_once([lambda: worker.work_on_run(run.pk)] * 2)
    return n


def created_rows(run: ScoringRun) -> bool:
    scorer = loaded_metric.scorer_version("word-count", WordCount().identity)
    return rows.create_rows(ScoringRun.objects.get(pk=run.pk), scorer)


def test_rows_are_made_once(at_once):
    run = requested(5)
    made = at_once([lambda: created_rows(run)] * 4)
    assert sorted(made) == [False, False, False, True]
    assert run.rows.count() == 5


def test_a_run_that_an_import_has_joined_finds_what_it_brings():
    run = requested(1)
    made: list[bool] = []

    def prepare() -> None:
        made.append(created_rows(run))

    with transaction.atomic():
        assert scoring_runs.create_or_join(run.study, run.metric, run.options, actor=None) == run
        elsewhere(prepare)
        add(run.study, "new", "rain")
    elsewhere(prepare)
    assert made == [False, True]
    assert run.rows.count() == 2


def test_a_run_that_looks_for_its_rows_is_joined_by_no_import():
    run = requested(1)
    joined: list[ScoringRun] = []

    def bring() -> None:
        joined.append(scoring_runs.create_or_join(run.study, run.metric, run.options, actor=None))

    with transaction.atomic():
        assert created_rows(run)
        elsewhere(bring)
    assert joined[0].pk != run.pk


def test_without_the_lock_making_them_would_fail(at_once, monkeypatch):
    monkeypatch.setattr(rows, "_TRY_EXCLUSIVE_LOCK", "SELECT true OR %s::int = %s::int")

    def attempt() -> list[IntegrityError]:
        run = requested(30)
        return integrity_errors(at_once([lambda: created_rows(run)] * 4))

    race_shows(attempt)
