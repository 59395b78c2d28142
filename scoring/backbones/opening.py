"""From a backbone's name to the backbone: a checkpoint on this machine, or a model behind a server's address.

Each half is imported when it is asked for: who asks a server needs nothing of what computes on this machine.
"""

from __future__ import annotations

import re

from scoring.backbones.contract import Backbone
from scoring.metrics.registry import Runtime


def open_backbone(name: str, *, dtype: str, runtime: Runtime) -> Backbone:
    """Raises SetupError with what is missing and how to mend it."""
    if re.match(r"https?://", name):
        from scoring.backbones.openai.server import open_server

        return open_server(name, runtime=runtime)
    from scoring.backbones.audio_lm.families import open_local_model

    return open_local_model(name, dtype=dtype, runtime=runtime)
