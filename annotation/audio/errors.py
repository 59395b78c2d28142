"""The one way in which a sound file is refused."""

from __future__ import annotations

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
