"""What became of one scorer at one benchmark, as kept between runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analytics.reports.benchmark_figures import Figure
from analytics.statistics.bootstrap import Estimate

# What a scorer's usual question is called; one without it is shown by its first output.
DEFAULT_OUTPUT = "default"
# What scorers call the mean of their templates' scores, and how far those lie apart: neither is a template.
ENSEMBLE_MEAN = "mean"
ENSEMBLE_SPREAD = "spread"


@dataclass(frozen=True)
class OutputResult:
    """The figures of one output (of one question template, say), by the key of their column. `bounded`: how many of
    the examples have a score that is only a bound."""

    figures: Mapping[str, Figure]
    bounded: int = 0


@dataclass(frozen=True)
class Result:
    """`limit`: how many of each part were looked at, None for all. `faults` counts examples without a score, by code.
    `left_out`: sounds that were not in the folder."""

    benchmark: str
    scorer: str
    title: str
    model: str
    digest: str
    identity: Mapping[str, Any]
    options: Mapping[str, Any]
    limit: int | None
    n_examples: int
    faults: Mapping[str, int]
    left_out: tuple[str, ...]
    outputs: Mapping[str, OutputResult]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def usual(self) -> OutputResult:
        """The usual question's, or else the first."""
        return self.outputs.get(DEFAULT_OUTPUT) or next(iter(self.outputs.values()))

    @property
    def templates(self) -> list[str]:
        return [name for name in self.outputs if name != ENSEMBLE_MEAN]

    @property
    def columns(self) -> set[str]:
        """The keys of the columns in which it has a figure."""
        return {key for output in self.outputs.values() for key in output.figures}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Result:
        outputs = {
            name: OutputResult(
                {key: _figure(one) for key, one in output["figures"].items()}, output.get("bounded", 0)
            )
            for name, output in stored["outputs"].items()
        }
        return cls(**{**stored, "outputs": outputs, "left_out": tuple(stored["left_out"])})


def model_name(options: Mapping[str, Any], *, parts: int = 1) -> str:
    """What the paper's tables call the model: the last part of what was named, or the last few."""
    named = next((options[name] for name in ("backbone", "checkpoint", "model") if options.get(name)), "")
    return "/".join(str(named).rstrip("/").replace("#", "/").split("/")[-parts:])


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of a figure over `n` templates."""

    mean: float
    sd: float
    n: int


def spread_over_templates(result: Result, key: str) -> Spread | None:
    """AQAScore, section 5.4: how far a figure depends on the question's wording. None below two templates with it."""
    figures = (result.outputs[name].figures.get(key) for name in result.templates)
    values = [one.estimate.value for one in figures if one is not None and one.estimate.value is not None]
    if len(values) < 2:
        return None
    found = np.array(values, dtype=np.float64)
    return Spread(float(found.mean()), float(found.std(ddof=1)), len(found))


def _figure(stored: Mapping[str, Any]) -> Figure:
    estimate = dict(stored["estimate"])
    if estimate["interval"] is not None:
        estimate["interval"] = tuple(estimate["interval"])
    return Figure(**{**stored, "estimate": Estimate(**estimate)})
