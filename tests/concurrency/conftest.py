"""Many raters at once, each in a thread with a connection of its own, against committed data."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TypeVar

import pytest
from django.db import IntegrityError, connection

from scoring.metrics import registry
from scoring.runs import loaded_metric
from tests.concurrency.scoring_workers import Use
from tests.scoring.doubles import WordCount, register

T = TypeVar("T")


@pytest.fixture
def at_once() -> Callable[[Sequence[Callable[[], T]]], list[T | Exception]]:
    """Run all callables at the same moment; each one's result, or the exception it ended with."""

    def run(calls: Sequence[Callable[[], T]]) -> list[T | Exception]:
        barrier = threading.Barrier(len(calls))
        results: list[T | Exception] = [RuntimeError("did not run")] * len(calls)

        def one(index: int) -> None:
            try:
                barrier.wait(30)
                results[index] = calls[index]()
            except Exception as error:
                results[index] = error
            finally:
                connection.close()

        threads = [threading.Thread(target=one, args=(index,)) for index in range(len(calls))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return results

    return run


# A race needs luck on a busy machine; that it shows within so many tries is what a control has to prove.
TRIES = 20


def race_shows(attempt: Callable[[], T]) -> T:
    """What an attempt comes to once the race has shown in it; falsy while it has not."""
    for _ in range(TRIES):
        if evidence := attempt():
            return evidence
    pytest.fail("the race did not show")


def integrity_errors(results: Sequence[object]) -> list[IntegrityError]:
    return [result for result in results if isinstance(result, IntegrityError)]


@pytest.fixture
def unguarded(monkeypatch) -> Callable[..., None]:
    """Take a lock, or a guard, out of a module's statement."""

    def cut(module: ModuleType, statement: str, guard: str, instead: str = "") -> None:
        assert guard in getattr(module, statement)
        monkeypatch.setattr(module, statement, getattr(module, statement).replace(guard, instead))

    return cut


@pytest.fixture
def no_model_open(monkeypatch) -> Iterator[None]:
    """A process that has opened no metric yet, and knows how to open the tests' own."""
    register(monkeypatch)
    loaded_metric.unload()
    yield
    loaded_metric.unload()


@pytest.fixture
def use(monkeypatch) -> Use:
    """Let this metric be what every worker opens."""

    def this(metric: WordCount) -> WordCount:
        monkeypatch.setattr(registry, "open_metric", lambda *_: metric)
        return metric

    return this
