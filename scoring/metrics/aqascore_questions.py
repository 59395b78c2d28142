"""What AQAScore asks: its system prompt and the templates chosen by name. Looked at before any model is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scoring.metrics.judging import prompts_of
from scoring.metrics.templates import chosen


def asked(options: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The system prompt, and the templates about one sound and one text by name. Raises OptionError."""
    prompts = prompts_of(options, "aqascore")
    return prompts.system, chosen(prompts, options["template"], of="text", placeholders=["text"])


def asked_of_pairs(options: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """The same for pairs, which are compared by the questions above or asked about outright. Raises OptionError."""
    if options["method"] == "compare":
        return asked(options)
    prompts = prompts_of(options, "aqascore")
    return prompts.system, chosen(
        prompts, options["template"], of="captions", placeholders=["text1", "text2"]
    )
