"""Scorers by embeddings: `fense`, `bertscore` and `mace`, one output `score` each, of texts and, for MACE, the clip.

An empty answer scores 0, as bert-score has it: it has no vector of its own.
"""

from __future__ import annotations

import csv
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import Clap
from scoring.backbones.encoders.fluency import FluencyDetector, open_fluency_detector
from scoring.backbones.encoders.text_vectors import (
    SentenceEncoder,
    TextEncoder,
    open_sentence_encoder,
    open_text_encoder,
    remembered,
)
from scoring.backbones.loading.feature_cache import open_feature_cache
from scoring.backbones.loading.pretrained import device_of
from scoring.metrics.answers import answer_and_reference
from scoring.metrics.contract import BatchLimits, Example, ExampleError, Metric, Outcome, Reading, SetupError
from scoring.metrics.registry import OptionError, Runtime
from scoring.metrics.text_similarity.measures import CODE, OUTPUT

NO_CHECKER = "none"


class FluencyPenalty:
    """Takes a share of a score away where an answer most likely has a fluency error (FENSE §3.2)."""

    def __init__(self, detector: FluencyDetector | None, *, threshold: float, penalty: float) -> None:
        self._detector, self._threshold, self._penalty = detector, threshold, penalty
        self.identity: Mapping[str, Any] = (
            {"checker": dict(detector.identity), "threshold": threshold, "penalty": penalty}
            if detector
            else {"checker": None}
        )

    def reading(self, similarity: float, answer: str) -> Reading:
        if self._detector is None:
            return Reading(similarity)
        probability = self._detector.error_probability(answer)
        kept = 1 - self._penalty if probability > self._threshold else 1.0
        return Reading(similarity * kept, provenance={"similarity": similarity, "error": probability})


def _fluency(options: Mapping[str, Any], runtime: Runtime, device: torch.device) -> FluencyPenalty:
    name = options["checker"]
    detector = (
        None if name == NO_CHECKER else open_fluency_detector(name, folder=runtime.checkpoints, device=device)
    )
    return FluencyPenalty(detector, threshold=options["threshold"], penalty=options["penalty"])


# ── FENSE (Zhou et al., ICASSP 2022) ──


def open_fense(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    device = device_of(runtime.device)
    cut = options["long_texts"] == "cut"
    encoder = open_sentence_encoder(options["checkpoint"], below=runtime.checkpoints, device=device, cut=cut)
    return Fense(encoder, _fluency(options, runtime, device))


class _EmbeddingMetric:
    """See Metric."""

    limits = BatchLimits(examples=64, seconds=1e6)

    def prepare(self, examples: Sequence[Example]) -> None:
        """Nothing: reading a text takes no time beside the model."""

    def score(self, examples: Sequence[Example]) -> list[Outcome]:
        return [self._outcome(example) for example in examples]

    def _outcome(self, example: Example) -> Outcome:
        try:
            answer, reference = answer_and_reference(example)
            return Outcome(
                example.key, {OUTPUT: self._reading(answer, reference) if answer else Reading(0.0)}
            )
        except ExampleError as error:
            return Outcome(example.key, fault=error.fault)

    def _reading(self, answer: str, reference: str) -> Reading:
        raise NotImplementedError


class Fense(_EmbeddingMetric):
    """The cosine of two sentence embeddings, from -1 to 1, less for an answer that is not fluent."""

    def __init__(self, encoder: SentenceEncoder, fluency: FluencyPenalty) -> None:
        self._encoder, self._fluency = encoder, fluency
        self.identity: Mapping[str, Any] = {
            "metric": "fense", "code": CODE, "encoder": dict(encoder.identity), **fluency.identity,
        }  # fmt: skip

    def _reading(self, answer: str, reference: str) -> Reading:
        cosine = float(self._encoder.vector(answer) @ self._encoder.vector(reference))
        return self._fluency.reading(min(max(cosine, -1.0), 1.0), answer)


# ── BERTScore (Zhang et al., ICLR 2020) ──

# The layer of each model that agrees best with people's ratings of translations (bert-score's table).
LAYERS = {
    "bert-base-uncased": 9, "bert-large-uncased": 18, "bert-base-multilingual-cased": 9, "bert-base-chinese": 8,
    "roberta-base": 10, "roberta-large": 17, "xlm-roberta-base": 9, "xlm-roberta-large": 17,
    "distilroberta-base": 5, "distilbert-base-uncased": 5, "deberta-large-mnli": 18, "deberta-xlarge-mnli": 40,
}  # fmt: skip


def open_bertscore(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    """Raises OptionError for a layer that the model does not have, SetupError."""
    name = options["checkpoint"]
    encoder = open_text_encoder(name, device=device_of(runtime.device))
    layer = options["layer"] if options["layer"] is not None else LAYERS.get(Path(name).name)
    if layer is None or not 0 <= layer <= encoder.n_layers:
        fault = "no layer is known to suit it" if layer is None else f"it has no layer {layer}"
        raise OptionError("layer", f"{name} has {encoder.n_layers} layers and {fault}; give one of them")
    baseline = _baseline(Path(options["baseline"]).expanduser(), layer) if options["baseline"] else 0.0
    return BertScore(encoder, layer=layer, baseline=baseline, cut=options["long_texts"] == "cut")


def _baseline(file: Path, layer: int) -> float:
    """The F1 of a layer in a table of bert-score: LAYER,P,R,F. Raises SetupError."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            by_layer = {int(row["LAYER"]): float(row["F"]) for row in csv.DictReader(lines)}
        return by_layer[layer]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SetupError(
            f"{file} gives no baseline of layer {layer} ({error}). Give one of bert-score's files rescale_baseline/, "
            "with the columns LAYER, P, R and F."
        ) from error


class BertScore(_EmbeddingMetric):
    """F1 of greedily matched token vectors; 1 for the same text, rescaled so that unrelated texts come out near 0 where
    there is a baseline."""

    def __init__(self, encoder: TextEncoder, *, layer: int, baseline: float, cut: bool) -> None:
        self._encoder, self._layer, self._baseline, self._cut = encoder, layer, baseline, cut
        self._remembered: OrderedDict[str, torch.Tensor] = OrderedDict()
        self.identity: Mapping[str, Any] = {
            "metric": "bertscore", "code": CODE, "encoder": dict(encoder.identity), "layer": layer,
            "baseline": baseline, "long_texts": "cut" if cut else "fault",
        }  # fmt: skip

    def _reading(self, answer: str, reference: str) -> Reading:
        own, other = self._vectors(answer), self._vectors(reference)
        similarity = own @ other.T
        precision = self._mean(similarity.amax(dim=1), answer)
        recall = self._mean(similarity.amax(dim=0), reference)
        f1 = 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
        scaled = (f1 - self._baseline) / (1 - self._baseline)
        return Reading(scaled, provenance={"precision": precision, "recall": recall})

    def _vectors(self, text: str) -> torch.Tensor:
        """Unit vectors of all tokens, float64."""
        return remembered(self._remembered, text, self._compute)

    def _compute(self, text: str) -> torch.Tensor:
        states = self._encoder.states(self._ids(text), layer=self._layer)
        return torch.nn.functional.normalize(states.double(), dim=1)

    def _mean(self, best: torch.Tensor, text: str) -> float:
        """Tokens of beginning and end may be matched, but count nothing themselves."""
        places = torch.tensor(self._encoder.special_places(self._ids(text)))
        return float(best[~places].mean())

    def _ids(self, text: str) -> list[int]:
        return self._encoder.token_ids(text, cut=self._cut)


# ── MACE (Dixit et al., ICASSP workshops 2025) ──


def open_mace(options: Mapping[str, Any], runtime: Runtime) -> Metric:
    device = device_of(runtime.device)
    parts = open_clap(options["checkpoint"], folder=runtime.checkpoints, device=device)
    clap = Clap(parts, long_sounds=options["long_sounds"], device=device, cache=open_feature_cache(runtime))
    return Mace(clap, _fluency(options, runtime, device), method=options["method"])


class Mace(_EmbeddingMetric):
    """The cosine of the answer's CLAP embedding and the reference's, the clip's, or the mean of both; less for an
    answer that is not fluent."""

    def __init__(self, clap: Clap, fluency: FluencyPenalty, *, method: str) -> None:
        self._clap, self._fluency, self._method = clap, fluency, method
        self.identity: Mapping[str, Any] = {
            "metric": "mace", "code": CODE, "clap": dict(clap.identity), "method": method, **fluency.identity,
        }  # fmt: skip

    def prepare(self, examples: Sequence[Example]) -> None:
        if self._method != "text":
            self._clap.prepare([sound for example in examples for sound in example.sounds])

    def _outcome(self, example: Example) -> Outcome:
        try:
            answer, reference = answer_and_reference(example)
            if not answer:
                return Outcome(example.key, {OUTPUT: Reading(0.0)})
            return Outcome(
                example.key, {OUTPUT: self._fluency.reading(self._similarity(example, reference), answer)}
            )
        except ExampleError as error:
            return Outcome(example.key, fault=error.fault)

    def _similarity(self, example: Example, reference: str) -> float:
        answer, other = self._clap.of_texts([example.texts[0].strip(), reference])
        sounds = [] if self._method == "text" else self._clap.of_sounds(example.sounds[:1])
        if self._method != "text" and not sounds:
            raise ExampleError(
                "no_sound", "Neither the candidate nor its item has a clip. Use method=text, or add it."
            )
        compared = [*([] if self._method == "audio" else [other]), *sounds]
        return sum(_cosine(answer, one) for one in compared) / len(compared)


def _cosine(one: torch.Tensor | ExampleError, other: torch.Tensor | ExampleError) -> float:
    """Of unit vectors. Raises the fault that is in a vector's place."""
    for each in (one, other):
        if isinstance(each, ExampleError):
            raise each
    assert isinstance(one, torch.Tensor)
    assert isinstance(other, torch.Tensor)
    return min(max(float(one.double() @ other.double()), -1.0), 1.0)
