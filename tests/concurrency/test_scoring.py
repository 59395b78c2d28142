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
from tests.concurrency.scoring_workers import (
    WAITING,
    elsewhere,
    prepared,
    requested,
)
from tests.scoring.doubles import WordCount
from tests.scoring.studies import add, check_books, study_of

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


def test_without_row_locks_they_would_take_the_same_rows(at_once, monkeypatch):
    unlocked = claims._TAKE.replace("FOR UPDATE SKIP LOCKED", "")
    assert unlocked != claims._TAKE
    run = prepared(40)
    assert not any(taken_twice(at_once, run) for _ in range(3))
    monkeypatch.setattr(claims, "_TAKE", unlocked)
    assert any(taken_twice(at_once, run) for _ in range(20))


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
    results = at_once([lambda: scoring_runs.request(study, "word-count", {}, actor=None)] * 4)
    assert [type(result) for result in results].count(ScoringRun) == 1
    refused = [result for result in results if isinstance(result, Conflict)]
    assert len(refused) == 3
    assert f"Run {ScoringRun.objects.get().pk} of this study" in str(refused[0])


def test_without_the_lock_it_would_be_made_twice(at_once, monkeypatch):
    monkeypatch.setattr(SCORING, "lock_requests", lambda study: None)
    for _ in range(20):
        study = study_of(["a bell"])
        at_once([lambda study=study: scoring_runs.request(study, "word-count", {}, actor=None)] * 8)
        if ScoringRun.objects.filter(study=study).count() > 1:
            return
    raise AssertionError("the race did not show")


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


def test_rows_are_made_once(at_once):
    run = requested(5)
    scorer = loaded_metric.scorer_version("word-count", WordCount().identity)
    made = at_once([lambda: rows.create_rows(ScoringRun.objects.get(pk=run.pk), scorer)] * 4)
    assert sorted(made) == [False, False, False, True]
    assert run.rows.count() == 5


def test_a_run_that_an_import_has_joined_finds_what_it_brings():
    run = requested(1)
    scorer = loaded_metric.scorer_version("word-count", WordCount().identity)
    made: list[bool] = []

    def prepare() -> None:
        made.append(rows.create_rows(ScoringRun.objects.get(pk=run.pk), scorer))

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
        assert rows.create_rows(run, loaded_metric.scorer_version("word-count", WordCount().identity))
        elsewhere(bring)
    assert joined[0].pk != run.pk


def test_without_the_lock_making_them_would_fail(at_once, monkeypatch):
    monkeypatch.setattr(rows, "_TRY_EXCLUSIVE_LOCK", "SELECT true OR %s::int = %s::int")
    scorer = loaded_metric.scorer_version("word-count", WordCount().identity)
    for _ in range(20):
        run = requested(30)
        made = at_once([lambda run=run: rows.create_rows(ScoringRun.objects.get(pk=run.pk), scorer)] * 4)
        if any(isinstance(each, IntegrityError) for each in made):
            return
    raise AssertionError("the race did not show")
