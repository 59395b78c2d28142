"""From a writer's settings to the writer itself, with its weights in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Workplace
from scoring.prompts import PromptError
from scoring.writing.catalogue import validated
from scoring.writing.contract import Writer
from scoring.writing.wording import wording

_WHISPER = "whisper"


def open_writer(
    writes: str,
    backbone: str,
    options: Mapping[str, Any],
    prompt: Mapping[str, Any] | None,
    workplace: Workplace,
) -> Writer:
    """`backbone`: a name on the hub, a folder, or a server's address with the model's name after a #.

    Raises OptionError, SetupError.
    """
    chosen = validated(writes, options)
    try:
        said = wording(writes, prompt)
    except PromptError as error:
        raise SetupError(f"The writer's prompt cannot be used: {error}") from error
    served = re.match(r"https?://", backbone)
    if writes == "transcript" and not served and (found := _whisper(backbone, chosen, workplace)):
        return found
    from scoring.backbones.opening import open_backbone
    from scoring.writing.texts import TextWriter

    opened = open_backbone(backbone, dtype=chosen["dtype"], workplace=workplace)
    return TextWriter(
        opened, said, max_new_tokens=chosen["max_new_tokens"], listens=chosen.get("listens", True)
    )


def _whisper(name: str, chosen: Mapping[str, Any], workplace: Workplace) -> Writer | None:
    """The transcriber, where this is a Whisper model."""
    from scoring.backbones.checkpoints import find
    from scoring.backbones.loading import device_of, dtype_of
    from scoring.writing.transcriber import Transcriber

    checkpoint = find(name)
    if checkpoint.model_type != _WHISPER:
        return None
    device = device_of(workplace.device)
    return Transcriber(
        checkpoint, language=chosen["language"], dtype=dtype_of(chosen["dtype"], device), device=device
    )
