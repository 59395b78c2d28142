"""What a researcher says of a release."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.errors import FieldProblem, InvalidInput

AUDIO = ("", "canonical", "original")


@dataclass(frozen=True)
class Wishes:
    """`license` is a name that Hugging Face knows; `language` are codes."""

    audio: str = ""
    note: str = ""
    license: str = "unknown"
    language: tuple[str, ...] = ()
    creator: str = ""
    url: str = ""

    def check(self) -> None:
        if self.audio not in AUDIO:
            known = "canonical (what raters heard), original (what was handed in) or nothing"
            raise InvalidInput(
                "This audio cannot be put into a release.",
                problems=[FieldProblem("audio", f"{self.audio!r} is not known.", f"Ask for {known}.")],
            )
