"""ORCA: how people would rate an answer, foretold from its text and what lies beside it (ORCA §4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.backbones.loading import device_of, dtype_of
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading
from scoring.metrics.orca_checkpoint import Judge, folder_of, open_judge
from scoring.metrics.orca_clamp import clamped
from scoring.metrics.orca_heads import Foretold
from scoring.metrics.orca_reading import prepared, read
from scoring.metrics.registry import OptionError, Workplace
from scoring.training.contract import RatedAnswer

# A change of this code that changes a score takes a new number.
_VERSION = 2
_NO_TEXT = ExampleError("no_text", "There is no answer to rate. Give the candidate a text.")


def open_orca(options: Mapping[str, Any], workplace: Workplace) -> Metric:
    given = options["clamp_below"]
    if given is not None and given < 0:
        raise OptionError("clamp_below", "a variance is not below 0; give 0 for no clamping")
    device = device_of(workplace.device)
    dtype = dtype_of(options["dtype"], device)
    folder = folder_of(options["checkpoint"], below=workplace.checkpoints)
    judge = open_judge(folder, dtype=dtype, device=device)
    found = judge.about.clamp_below if given is None else given
    # A built-in encoder computes alike on every device, whatever a language model would be loaded as.
    loaded_as = None if judge.about.is_built_in else str(dtype).removeprefix("torch.")
    return Orca(judge, clamp_below=found or None, dtype=loaded_as)


class Orca:
    """The mean of the ratings to expect, from 0 to 1, and their variance. The candidate is the example's one text."""

    limits = BatchLimits(examples=64, seconds=3600.0)

    def __init__(self, judge: Judge, *, clamp_below: float | None, dtype: str | None) -> None:
        self._judge = judge
        self._clamp_below = clamp_below
        self._device = judge.head.linear.weight.device
        self.identity: Mapping[str, Any] = {
            "metric": "orca",
            "code": f"orca/{_VERSION}",
            "weights": f"sha256:{judge.weights}",
            "encoder": dict(judge.encoder.identity),
            "head": judge.head.kind,
            "clamp_below": clamp_below,
            **({"dtype": dtype} if dtype else {}),
        }

    def prepare(self, examples: Sequence[Example]) -> None:
        """Nothing: reading a text takes no time beside the model."""

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        # An answer may be empty: people rate that too.
        texts = [example for example in examples if example.texts]
        ready = prepared(self._judge.encoder, [answer_read(example) for example in texts]) if texts else []
        by_key = dict(zip((example.key for example in texts), ready, strict=True))
        parts = [by_key.get(example.key, _NO_TEXT) for example in examples]
        whole = [part for part in parts if not isinstance(part, ExampleError)]
        raw = read(self._judge.encoder, self._judge.head, whole, device=self._device)
        readings = iter(self._readings(self._judge.head.foretell(raw)))
        return [
            Outcome(example.key, fault=part.fault)
            if isinstance(part, ExampleError)
            else Outcome(example.key, next(readings))
            for example, part in zip(examples, parts, strict=True)
        ]

    def _readings(self, foretold: Foretold) -> list[Mapping[str, Reading]]:
        means, variances = np.asarray(foretold.mean), np.asarray(foretold.variance)
        values = clamped(means, variances, at_most=self._clamp_below)
        rows = zip(values.tolist(), means.tolist(), variances.tolist(), foretold.distributions, strict=True)
        return [
            {"value": Reading(value, distribution, {"mean": mean}), "variance": Reading(variance)}
            for value, mean, variance, distribution in rows
        ]


def answer_read(example: Example) -> RatedAnswer:
    """As a training is given it: where an item has no question, its prompt is what was asked."""
    fields = example.fields
    return RatedAnswer(
        key=str(example.key),
        group="",
        system="",
        candidate=example.texts[0],
        question=fields.get("question") or fields.get("prompt", ""),
        reference=fields.get("reference", ""),
        rationale=fields.get("rationale", ""),
        transcript=fields.get("transcript", ""),
    )
