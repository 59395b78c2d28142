"""Audio errors: the refusal of a sound file, with its remedy, and the limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Code = Literal[
    "missing",
    "empty",
    "undecodable",
    "no_audio_stream",
    "too_short",
    "too_long",
    # Of sounds elsewhere: never asked for, did not come, more than may come, came as something else.
    "address_refused",
    "not_fetched",
    "too_large",
    "not_audio",
]


class AudioError(Exception):
    """A file that cannot become a clip: a stable code for programs, two sentences for the researcher.

    `message` says what is wrong with the file, `remedy` what to do about it.
    """

    def __init__(self, code: Code, message: str, remedy: str) -> None:
        # All three go to Exception, which is what lets a worker pickle the error.
        super().__init__(code, message, remedy)
        self.code = code
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


# How short and how long a clip may be.


@dataclass(frozen=True)
class Limits:
    """Both ends belong to the allowed range. Below 0.1 s nobody can judge what they heard."""

    min_seconds: float = 0.1
    max_seconds: float = 30 * 60.0

    def refuse_shorter(self, seconds: float) -> None:
        """Raise `too_short` if a file of this length lies below the limit."""
        if seconds >= self.min_seconds:
            return
        length = f"only {1000 * seconds:.3g} ms of audio" if seconds else "no samples"
        raise AudioError(
            "too_short",
            f"This file holds {length}; a clip needs at least {format_duration(self.min_seconds)}.",
            "Check that the export finished, and replace the file.",
        )

    def refuse_longer(self, seconds: float, *, length: str) -> None:
        """Raise `too_long` if the seconds pass the limit; `length` is what the message says of them."""
        if seconds <= self.max_seconds:
            return
        raise AudioError(
            "too_long",
            f"This file holds {length} of audio; the limit is {format_duration(self.max_seconds)}.",
            "Cut it to the part that is to be judged.",
        )


DEFAULT_LIMITS = Limits()


def format_duration(seconds: float) -> str:
    """A length as people say it: `0.1 s`, `1 min 5 s`, `2 h 0 min`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"
