"""ORCA: predicted mean and variance of people's ratings of an answer (ORCA §4), with clamping of near certain ends
(§5.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from scoring.backbones.encoders.contract import AnswerEncoder, on_device
from scoring.backbones.loading.pretrained import device_of, dtype_of
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading
from scoring.metrics.orca.checkpoint import Judge, judge_folder, open_judge
from scoring.metrics.orca.clamping import clamp_means
from scoring.metrics.orca.heads import RatingHead, RatingPrediction
from scoring.metrics.registry import OptionError, Runtime
from scoring.training.contract import RatedAnswer

# ── inference in batches of even length ──

# Together, padded to the longest of a batch, in the encoder's own measure (tokens, for a language model).
_SIZE_AT_ONCE = 2**15
_ANSWERS_AT_ONCE = 256


def prepare_answers(encoder: AnswerEncoder, answers: Sequence[RatedAnswer]) -> list[Any | ExampleError]:
    """The inputs of answers, in order; an ExampleError in the place of each answer that cannot be read."""
    try:
        return list(encoder.prepare(answers))
    except ExampleError as error:
        if len(answers) == 1:
            return [error]
    return [prepare_answers(encoder, [answer])[0] for answer in answers]


@torch.no_grad()
def predict(
    encoder: AnswerEncoder, head: RatingHead, parts: Sequence[Any], *, device: torch.device
) -> torch.Tensor:
    """The head's outputs for prepared answers, in order, on the CPU. Leaves both in evaluation mode."""
    encoder.eval()
    head.eval()
    if not parts:
        return torch.empty(0, head.linear.out_features)
    order = sorted(range(len(parts)), key=lambda place: encoder.size(parts[place]))
    outputs = []
    for batch in _batches(encoder, [parts[place] for place in order]):
        outputs.append(head(encoder(on_device(encoder.collate(batch), device))).cpu())
    back = torch.empty(len(parts), dtype=torch.long)
    back[order] = torch.arange(len(parts))
    return torch.cat(outputs)[back]


def _batches(encoder: AnswerEncoder, parts: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Batches of parts sorted by size."""
    start = 0
    for end in range(1, len(parts) + 1):
        full = end - start == _ANSWERS_AT_ONCE
        if end == len(parts) or full or (end - start + 1) * encoder.size(parts[end]) > _SIZE_AT_ONCE:
            yield parts[start:end]
            start = end


# A change of this code that changes a score takes a new number.
_VERSION = 2
_NO_TEXT = ExampleError("no_text", "There is no answer to rate. Give the candidate a text.")


def open_orca(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    at_most = options["clamp_below"]
    if at_most is not None and at_most < 0:
        raise OptionError("clamp_below", "a variance is not below 0; give 0 for no clamping")
    device = device_of(runtime.device)
    dtype = dtype_of(options["dtype"], device)
    folder = judge_folder(options["checkpoint"], below=runtime.checkpoints)
    judge = open_judge(folder, dtype=dtype, device=device)
    clamp_below = judge.about.clamp_below if at_most is None else at_most
    # A built-in encoder computes alike on every device, whatever a language model would be loaded as.
    loaded_as = None if judge.about.is_built_in else str(dtype).removeprefix("torch.")
    return Orca(judge, clamp_below=clamp_below or None, dtype=loaded_as)


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
        ready = (
            prepare_answers(self._judge.encoder, [rated_answer_of(example) for example in texts])
            if texts
            else []
        )
        by_key = dict(zip((example.key for example in texts), ready, strict=True))
        parts = [by_key.get(example.key, _NO_TEXT) for example in examples]
        whole = [part for part in parts if not isinstance(part, ExampleError)]
        raw = predict(self._judge.encoder, self._judge.head, whole, device=self._device)
        readings = iter(self._readings(self._judge.head.predict_ratings(raw)))
        return [
            Outcome(example.key, fault=part.fault)
            if isinstance(part, ExampleError)
            else Outcome(example.key, next(readings))
            for example, part in zip(examples, parts, strict=True)
        ]

    def _readings(self, predicted: RatingPrediction) -> list[Mapping[str, Reading]]:
        means, variances = np.asarray(predicted.mean), np.asarray(predicted.variance)
        values = clamp_means(means, variances, at_most=self._clamp_below)
        rows = zip(values.tolist(), means.tolist(), variances.tolist(), predicted.distributions, strict=True)
        return [
            {"value": Reading(value, distribution, {"mean": mean}), "variance": Reading(variance)}
            for value, mean, variance, distribution in rows
        ]


def rated_answer_of(example: Example) -> RatedAnswer:
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
