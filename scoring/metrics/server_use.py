"""How a scorer may use a model's server: concurrency, rate limit, and what the tokens cost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from scoring.metrics.contract import BatchLimits

AT_ONCE = 8
_PER_PRICE = 1_000_000  # tokens
# Text judges have no seconds of sound that a batch could be limited by; their lengths are characters.
NO_SOUND = 1e9


class Usage(NamedTuple):
    """Requests that a server answered, and the tokens read and written as it counts them."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def plus(self, other: Usage) -> Usage:
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class UsageMeter:
    """Adds up what servers report. For many threads."""

    def __init__(self) -> None:
        self._adding = threading.Lock()
        self._usage = Usage()

    def add(self, usage: Usage) -> None:
        with self._adding:
            self._usage = self._usage.plus(usage)

    def take(self) -> Usage:
        """What was used since this was last called."""
        with self._adding:
            usage, self._usage = self._usage, Usage()
        return usage


@dataclass(frozen=True)
class ServerUse:
    """`at_once` requests under way together, `per_minute` begun in a minute; None for no limit. Servers' reports of
    tokens go to `meter`. `open_backbone` opens a scorer's models in another way than usual: to count what they would
    be asked, say."""

    at_once: int = AT_ONCE
    per_minute: int | None = None
    meter: UsageMeter = field(default_factory=UsageMeter, compare=False)
    open_backbone: Callable[[str], Any] | None = None

    def batch_limits(self, usual: BatchLimits, *, requests: int) -> BatchLimits:
        """Of a metric that sends so many requests for an example: enough to keep all connections busy, and with a rate
        limit no more than go out in a minute, since a batch is leased and cannot be cancelled half-way."""
        examples = max(usual.examples, 2 * self.at_once // requests)
        if self.per_minute is not None:
            examples = min(examples, self.per_minute // requests)
        return BatchLimits(max(examples, 1), usual.seconds)


def cost_of(
    prompt_tokens: int, completion_tokens: int, *, price_in: float | None, price_out: float | None
) -> float | None:
    """Prices are per million tokens, in any currency. None where there is no price; a missing one of two is 0."""
    if price_in is None and price_out is None:
        return None
    return (prompt_tokens * (price_in or 0.0) + completion_tokens * (price_out or 0.0)) / _PER_PRICE
