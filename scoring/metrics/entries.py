"""The words in which a metric is described before anything of it is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal


class Reads(StrEnum):
    """What one row of a run holds."""

    SINGLE = "single"  # one candidate: a sound and a text
    PAIR = "pair"  # two candidates of one item version


@dataclass(frozen=True)
class Option:
    """A setting of a metric or a training. `kind` says how it is written: a text, several texts, a whole number, a
    decimal number, one of `choices`, yes or no, or a table (prompts as parsed from TOML). An option without a default
    must be given."""

    name: str
    kind: Literal["text", "texts", "number", "decimal", "choice", "flag", "table"]
    help: str
    default: Any = None
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One metric. `opens` is "module:function", taking the options (validated) and a Workplace, returning a Metric.

    `hears` and `reads_text`: without a sound, or without a text, of the candidate or its item there is nothing to
    score. A metric that needs neither of them by name decides for itself (its ExampleError is the row's fault);
    one that does not hear is given what systems said in words, though it be empty, and nothing for what they played.

    `checks`, where there is one, names a function of the options that raises OptionError for what the options' kinds
    cannot tell, and loads no model: whoever asks hears of it at once.
    """

    name: str
    title: str
    summary: str
    reads: Reads
    opens: str
    options: tuple[Option, ...] = ()
    checks: str = ""
    hears: bool = True
    reads_text: bool = True
