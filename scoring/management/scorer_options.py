"""A scorer's options on a command line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.errors import DomainError

# Options that have a flag of their own; every other is given by --option.
SHORTHANDS = ("backbone", "checkpoint", "template", "dtype")


def add_scorer_options(parser: CommandParser) -> None:
    for name in SHORTHANDS:
        parser.add_argument(f"--{name}", help=f"short for --option {name}=…")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="any of the scorer's options"
    )
    parser.add_argument("--prompts", type=Path, metavar="FILE.toml", help="ask in these words instead")


def given_options(given: dict[str, Any]) -> dict[str, Any]:
    """Raises CommandError."""
    options: dict[str, Any] = {name: given[name] for name in SHORTHANDS if given[name] is not None}
    for pair in given["option"]:
        name, sign, value = pair.partition("=")
        if not sign:
            raise CommandError(f"--option {pair}: write NAME=VALUE.")
        options[name] = value
    if given["prompts"]:
        try:
            options["prompts"] = tomllib.loads(given["prompts"].read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise CommandError(f"--prompts {given['prompts']}: {error}") from error
    return options


def sentences(error: DomainError) -> str:
    lines = [error.message, *(f"{each.field}: {each.message} {each.remedy}" for each in error.problems)]
    return "\n".join(line.rstrip() for line in lines)
