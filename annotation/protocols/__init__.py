"""Protocols as data: what a study asks, read from TOML (the presets here) or from a stored definition.

A pure island: no Django. `preset(key)` reads a shipped preset, `parse(definition)` checks any definition.
"""

from annotation.protocols.load import definition_of_preset, parse, preset, preset_keys
from annotation.protocols.schema import (
    Band,
    CodeSpec,
    ConfidenceSpec,
    GlossaryRow,
    ListeningSpec,
    Point,
    Protocol,
    ProtocolError,
    QuestionSpec,
    Text,
)

__all__ = [
    "Band",
    "CodeSpec",
    "ConfidenceSpec",
    "GlossaryRow",
    "ListeningSpec",
    "Point",
    "Protocol",
    "ProtocolError",
    "QuestionSpec",
    "Text",
    "definition_of_preset",
    "parse",
    "preset",
    "preset_keys",
]
