"""Text writer: an audio or text language model, local or behind a server, and how a writer is opened. Pure."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backbones.contract import Backbone, GeneratedText, Hearing
from scoring.metrics.contract import ExampleError, SetupError
from scoring.metrics.registry import Runtime
from scoring.prompts import PromptError
from scoring.writing.contract import Text, Writer, WritingRequest, text_of
from scoring.writing.kinds import Wording, validate_options, wording_of

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
        texts: dict[int, Text | ExampleError] = {}
        hearings: dict[int, Hearing] = {}
        for place, request in enumerate(requests):
            try:
                hearings[place] = self._hearing(request)
            except ExampleError as error:
                texts[place] = error
        began = time.monotonic()
        answers = self._backbone.generate(
            list(hearings.values()), system=self._wording.system, max_new_tokens=self._max_new_tokens
        )
        seconds = (time.monotonic() - began) / max(len(hearings), 1)
        for place, answer in zip(hearings, answers, strict=True):
            texts[place] = _text_of_answer(answer, seconds)
        return [texts[place] for place in range(len(requests))]

    def _hearing(self, request: WritingRequest) -> Hearing:
        """Raises ExampleError `no_sound`, `no_text`."""
        if self._listens and request.sound is None:
            raise ExampleError(
                "no_sound",
                "The item has no clip to be heard. Limit the run to items that have one, or set listens=no.",
            )
        sounds = (request.sound,) if self._listens and request.sound else ()
        return Hearing(sounds, (self._wording.filled(request.fields),))


def _text_of_answer(answer: Sequence[GeneratedText] | Exception, seconds: float) -> Text | ExampleError:
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


# ── opening a writer from its settings ──

_WHISPER = "whisper"


def open_writer(
    writes: str,
    backbone: str,
    options: Mapping[str, Any],
    prompt: Mapping[str, Any] | None,
    runtime: Runtime,
) -> Writer:
    """`backbone`: a name on the hub, a folder, or a server's address with the model's name after a #.

    Raises OptionError, SetupError.
    """
    chosen = validate_options(writes, options)
    try:
        wording = wording_of(writes, prompt)
    except PromptError as error:
        raise SetupError(f"The writer's prompt cannot be used: {error}") from error
    served = re.match(r"https?://", backbone)
    if writes == "transcript" and not served and (transcriber := _open_whisper(backbone, chosen, runtime)):
        return transcriber
    from scoring.backbones.opening import open_backbone

    opened = open_backbone(backbone, dtype=chosen["dtype"], runtime=runtime)
    return TextWriter(
        opened, wording, max_new_tokens=chosen["max_new_tokens"], listens=chosen.get("listens", True)
    )


def _open_whisper(name: str, chosen: Mapping[str, Any], runtime: Runtime) -> Writer | None:
    """The transcriber, where this is a Whisper model."""
    from scoring.backbones.loading.checkpoints import find_checkpoint
    from scoring.backbones.loading.pretrained import device_of, dtype_of
    from scoring.writing.transcriber import Transcriber

    checkpoint = find_checkpoint(name)
    if checkpoint.model_type != _WHISPER:
        return None
    device = device_of(runtime.device)
    return Transcriber(
        checkpoint, language=chosen["language"], dtype=dtype_of(chosen["dtype"], device), device=device
    )
