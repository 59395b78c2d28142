"""Texts written by an audio language model, on this machine or behind a server's address."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import Backbone, Hearing, Written
from scoring.metrics.contract import ExampleError
from scoring.writing.contract import Text, WritingRequest, text_of
from scoring.writing.wording import Wording

CODE = 1
# As many as a server is asked at once; on this machine the backbone makes its own, smaller passes.
AT_ONCE = 8


class TextWriter:
    """See Writer. `listens`: the model is played the item's sound; else it goes by the texts alone."""

    at_once = AT_ONCE

    def __init__(self, backbone: Backbone, wording: Wording, *, max_new_tokens: int, listens: bool) -> None:
        self._backbone = backbone
        self._wording = wording
        self._max_new_tokens = max_new_tokens
        self._listens = listens
        self.identity: Mapping[str, Any] = {
            "writes": wording.writes,
            "code": CODE,
            "prompt": {
                "digest": wording.digest,
                "system": wording.system,
                "ask": wording.ask,
                "source": wording.source,
            },
            "decoding": f"greedy, {max_new_tokens} new tokens at most",
            "listens": listens,
            "backbone": dict(backbone.identity),
        }

    def write(self, requests: Sequence[WritingRequest]) -> list[Text | ExampleError]:
        found: dict[int, Text | ExampleError] = {}
        hearings: dict[int, Hearing] = {}
        for place, request in enumerate(requests):
            try:
                hearings[place] = self._hearing(request)
            except ExampleError as error:
                found[place] = error
        began = time.monotonic()
        answers = self._backbone.write(
            list(hearings.values()), system=self._wording.system, max_new_tokens=self._max_new_tokens
        )
        seconds = (time.monotonic() - began) / max(len(hearings), 1)
        for place, answer in zip(hearings, answers, strict=True):
            found[place] = _text(answer, seconds)
        return [found[place] for place in range(len(requests))]

    def _hearing(self, request: WritingRequest) -> Hearing:
        """Raises ExampleError `no_sound`, `no_text`."""
        if self._listens and request.sound is None:
            raise ExampleError(
                "no_sound",
                "The item has no clip to be heard. Limit the run to items that have one, or set listens=no.",
            )
        sounds = (request.sound,) if self._listens and request.sound else ()
        return Hearing(sounds, (self._wording.filled(request.fields),))


def _text(answer: Sequence[Written] | Exception, seconds: float) -> Text | ExampleError:
    if isinstance(answer, ExampleError):
        return answer
    if isinstance(answer, Exception):
        raise answer
    (written,) = answer
    return text_of(
        written.text,
        cut=written.cut,
        prompt_tokens=written.prompt_tokens,
        completion_tokens=written.completion_tokens,
        seconds=seconds,
    )
