"""From a backbone's name to the backbone: a checkpoint on this machine, of a model that hears or one that reads, or a
model behind a server's address.

Each half is imported when it is asked for: who asks a server needs nothing of what computes on this machine.
"""

from __future__ import annotations

import re

from scoring.backbones.contract import Backbone
from scoring.metrics.registry import Runtime


def open_backbone(name: str, *, dtype: str, runtime: Runtime) -> Backbone:
    """Raises SetupError with what is missing and how to mend it."""
    if runtime.server.open_backbone is not None:
        opened: Backbone = runtime.server.open_backbone(name)
        return opened
    if is_server(name):
        from scoring.backbones.openai.server import open_server

        return open_server(name, runtime=runtime)
    from scoring.backbones.loading.checkpoints import find_checkpoint

    checkpoint = find_checkpoint(name)
    if reads_only(checkpoint.model_type):
        from scoring.backbones.text_lm.model import open_text_model

        return open_text_model(checkpoint, dtype=dtype, runtime=runtime)
    from scoring.backbones.audio_lm.families import open_audio_model

    return open_audio_model(checkpoint, dtype=dtype, runtime=runtime)


def is_server(name: str) -> bool:
    """Whether a backbone's name is a server's address."""
    return re.match(r"https?://", name) is not None


def reads_only(model_type: str) -> bool:
    """Whether transformers has such models as causal language models, and none of the families here hears."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    from scoring.backbones.audio_lm.families import FAMILIES

    hears = any(model_type in family.model_types for family in FAMILIES)
    return not hears and model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
