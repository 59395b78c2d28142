from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from config.processes import Interruption, Stop

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_the_pause_and_every_later_one(number: signal.Signals) -> None:
    interruption = Interruption()
    interruption.pause(0)
    os.kill(os.getpid(), number)
    for _ in range(2):
        with pytest.raises(Stop):
            interruption.pause(1000)


def test_the_end_of_the_terminal_is_ignored_under_nohup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    os.kill(os.getpid(), signal.SIGHUP)
    interruption.pause(0)
