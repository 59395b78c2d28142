"""Contract of a listener: from samples to the embeddings that stand in a prompt for a sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import WhisperFeatureExtractor

from scoring.metrics.contract import ExampleError, SetupError

Samples = NDArray[np.float32]
Features = dict[str, torch.Tensor]


class Listener(Protocol):
    """`features` runs in threads, on the CPU; `embed` on the model's device. A sound's embeddings (tokens, width) are
    the same whatever is embedded with it."""

    @property
    def seconds(self) -> float:
        """The longest sound the model takes."""
        ...

    def features(self, samples: Samples) -> Features:
        """Raises ExampleError `no_sound` where nothing would come of them."""
        ...

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]: ...


@dataclass(frozen=True)
class Family:
    """Models of one design. `version` grows by hand whenever the code here changes what is computed."""

    title: str
    model_types: tuple[str, ...]
    model_class: str
    version: int
    listener: Callable[[Any, WhisperFeatureExtractor], Listener]
    template: Callable[[], str | None] = lambda: None


def load_extractor(folder: Path) -> WhisperFeatureExtractor:
    """The front end of all these models: a log-mel spectrogram. Raises SetupError."""
    try:
        return WhisperFeatureExtractor.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise SetupError(
            f"{folder} has no preprocessor_config.json that can be read. Download it again."
        ) from error


def extractor_settings(extractor: WhisperFeatureExtractor) -> Mapping[str, Any]:
    """The settings of a front end that change features."""
    names = [
        "feature_size",
        "sampling_rate",
        "hop_length",
        "chunk_length",
        "n_fft",
        "dither",
        "padding_value",
    ]
    return {name: getattr(extractor, name) for name in names}


def too_short_error() -> ExampleError:
    return ExampleError(
        "no_sound", "The sound is too short to be heard by this model: a few hundredths of a second."
    )


def padded_mel(
    extractor: WhisperFeatureExtractor, samples: Samples, *, n_samples: int
) -> tuple[torch.Tensor, int]:
    """The log-mel spectrogram (mels, frames) of a sound followed by silence up to `n_samples`, and the number of frames
    that begin within the sound."""
    output = extractor(
        samples,
        sampling_rate=extractor.sampling_rate,
        padding="max_length",
        max_length=n_samples,
        return_attention_mask=True,
        return_tensors="pt",
    )
    return output["input_features"][0], int(output["attention_mask"].sum())


def n_pooled(n_frames: int) -> int:
    """Embeddings of so many mel frames where a tower halves them twice: a strided convolution, then pooling."""
    return ((n_frames - 1) // 2 + 1) // 2
