"""Rate limits: a token bucket per key (GCRA), with a steady rate and a burst."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Rate:
    """At most `n` in any moment's burst, coming back evenly within `seconds`."""

    n: int
    seconds: float

    @property
    def interval(self) -> float:
        return self.seconds / self.n


class RateLimiter:
    """What each key has used, in this process alone and in one number each: when its bucket will be full again (the
    generic cell rate algorithm). Times are seconds on any clock that does not go back."""

    def __init__(self, *, most_keys: int = 50_000) -> None:
        self._full_at: dict[str, float] = {}
        self._most_keys = most_keys
        self._lock = Lock()

    def wait(self, key: str, rate: Rate, *, now: float) -> float:
        """Seconds until the key may go on; 0 when it may now. Uses nothing."""
        return max(0.0, self._full_at.get(key, now) - now + rate.interval - rate.seconds)

    def take(self, key: str, rate: Rate, *, now: float) -> float:
        """Use one, where the key may; else the seconds to wait, and nothing is used."""
        with self._lock:
            # A millionth of a second is rounding.
            if (seconds := self.wait(key, rate, now=now)) > 1e-6:
                return seconds
            self._full_at[key] = max(self._full_at.get(key, now), now) + rate.interval
            if len(self._full_at) > self._most_keys:
                self._forget(now)
        return 0.0

    def clear(self) -> None:
        self._full_at.clear()

    def _forget(self, now: float) -> None:
        """Drop the full buckets, which say nothing; all of them where that is not enough, for memory is not endless."""
        kept = {key: at for key, at in self._full_at.items() if at > now}
        self._full_at = kept if len(kept) <= self._most_keys else {}
