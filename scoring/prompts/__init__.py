"""Prompts as data: what a metric says to a model, read from TOML (the files here) or from a study's own.

    source = "where the wording comes from"
    system = "the system prompt, or empty"
    [questions.<set>]
    <key> = "a question with {placeholders}"

A pure island: no Django.
"""

from scoring.prompts.prompt_files import PromptError, Prompts, fill, parse, shipped, shipped_names

__all__ = ["PromptError", "Prompts", "fill", "parse", "shipped", "shipped_names"]
