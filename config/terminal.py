"""The person at the terminal: what we tell them, and how they stop us."""

from __future__ import annotations

import signal
import sys
import time


class Stop(Exception):
    """Somebody asked for the end: Ctrl-C, SIGTERM, or a terminal that was closed."""


def say(text: str) -> None:
    """On standard error; standard output is kept for the address."""
    print(text, file=sys.stderr, flush=True)


class Interruption:
    """Turns the signals that ask for the end into Stop, at the next pause: never in the midst of a start."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup the end of the terminal is to be ignored, and stays so.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._ask)

    def pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._asked:
            if (left := deadline - time.monotonic()) <= 0:
                return
            time.sleep(min(left, 0.1))
        raise Stop

    def _ask(self, *_: object) -> None:
        self._asked = True
