"""Rates: a burst, then evenly; each key for itself."""

from __future__ import annotations

import pytest

from annotation.rate_limits import Rate, RateLimiter

RATE = Rate(n=6, seconds=60)


def test_a_burst_is_let_through_and_then_one_by_one():
    meter = RateLimiter()
    assert [meter.take("a", RATE, now=100) for _ in range(6)] == [0] * 6
    assert meter.take("a", RATE, now=100) == pytest.approx(10)
    assert meter.take("a", RATE, now=104) == pytest.approx(6)
    assert meter.take("a", RATE, now=110) == 0
    assert meter.take("a", RATE, now=110) == pytest.approx(10)


def test_what_was_refused_uses_nothing():
    meter = RateLimiter()
    for _ in range(50):
        meter.take("a", RATE, now=0)
    assert [meter.take("a", RATE, now=60) for _ in range(7)] == [0] * 6 + [pytest.approx(10)]


def test_looking_uses_nothing():
    meter = RateLimiter()
    assert [meter.wait("a", RATE, now=0) for _ in range(50)] == [0] * 50


def test_each_key_has_its_own():
    meter = RateLimiter()
    for _ in range(7):
        meter.take("a", RATE, now=0)
    assert meter.take("b", RATE, now=0) == 0


def test_full_buckets_are_forgotten_before_they_fill_the_memory():
    meter = RateLimiter(most_keys=10)
    for n in range(1000):
        meter.take(f"key {n}", RATE, now=n * 60)
    assert len(meter._full_at) <= 11


def test_the_rate_of_a_minute_holds_over_an_hour():
    meter = RateLimiter()
    let_through = sum(meter.take("a", RATE, now=second / 2) == 0 for second in range(7200))
    assert let_through == pytest.approx(6 * 60 + 5, abs=1)
