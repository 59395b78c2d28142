"""Transcriber: Whisper (Radford et al. 2023) on sounds of any length, in the model's own windows of 30 s. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import WhisperProcessor

from scoring.backbones.audio_lm.model import extractor_settings
from scoring.backbones.loading.checkpoints import Checkpoint
from scoring.backbones.loading.pretrained import load_model
from scoring.backbones.loading.sounds import decode
from scoring.metrics.contract import ExampleError, SetupError
from scoring.writing.contract import Text, WritingRequest, text_of

CODE = 1
AT_ONCE = 8
# Sounds are decoded whole: 40 minutes are 150 MB.
LONGEST_S = 40 * 60.0
# Every model of the family hears at this rate.
RATE = 16_000


class Transcriber:
    """See Writer. `language` as its name or code; empty for the one that the model hears.

    Greedy: the same sound gets the same transcript. What lasts longer than a window is transcribed in turns, each of
    which begins where the last one's time stamps end, as the model was published to do.
    """

    at_once = AT_ONCE

    def __init__(
        self, checkpoint: Checkpoint, *, language: str, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._model = load_model("WhisperForConditionalGeneration", checkpoint, dtype=dtype, device=device)
        self._processor = _load_processor(checkpoint)
        self._window = self._processor.feature_extractor.chunk_length * RATE
        self._dtype, self._device = dtype, device
        self._settings = _language_settings(self._model.generation_config, language, checkpoint.name)
        self.identity: Mapping[str, Any] = {
            "writes": "transcript",
            "code": CODE,
            "decoding": "greedy",
            "language": language or "as heard",
            "backbone": {
                "family": "Whisper",
                **({"model": checkpoint.name} if checkpoint.is_published else {}),
                "weights": checkpoint.revision,
                "dtype": str(dtype).removeprefix("torch."),
                "preprocessing": dict(extractor_settings(self._processor.feature_extractor)),
            },
        }

    def write(self, requests: Sequence[WritingRequest]) -> list[Text | ExampleError]:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="sounds") as pool:
            heard = list(pool.map(_samples, requests))
        texts_by_place: dict[int, Text | ExampleError] = {
            place: samples for place, samples in enumerate(heard) if isinstance(samples, ExampleError)
        }
        sounds = {
            place: samples for place, samples in enumerate(heard) if not isinstance(samples, ExampleError)
        }
        short = [place for place in sounds if len(sounds[place]) <= self._window]
        for places in [short, *([place] for place in sounds if place not in short)]:
            if places:
                texts = self._transcribe([sounds[place] for place in places])
                texts_by_place.update(zip(places, texts, strict=True))
        return [texts_by_place[place] for place in range(len(requests))]

    @torch.inference_mode()
    def _transcribe(self, sounds: Sequence[NDArray[np.float32]]) -> list[Text | ExampleError]:
        """Several that fit into one window each, or one that is longer."""
        began = time.monotonic()
        is_long = len(sounds[0]) > self._window
        features = self._processor(
            list(sounds),
            sampling_rate=RATE,
            return_attention_mask=True,
            return_tensors="pt",
            **({"truncation": False, "padding": "longest"} if is_long else {}),
        )
        generated = self._model.generate(
            features["input_features"].to(self._device, self._dtype),
            attention_mask=features["attention_mask"].to(self._device),
            return_segments=True,
            return_timestamps=is_long,
            do_sample=False,
            num_beams=1,
            **self._settings,
        )
        seconds = (time.monotonic() - began) / len(sounds)
        texts = self._processor.batch_decode(generated["sequences"], skip_special_tokens=True)
        return [
            text_of(
                text,
                cut=self._is_cut(segments),
                completion_tokens=sum(len(segment["tokens"]) for segment in segments),
                seconds=seconds,
            )
            for text, segments in zip(texts, generated["segments"], strict=True)
        ]

    def _is_cut(self, segments: Sequence[Mapping[str, Any]]) -> bool:
        """Whether words of a window were lost: it had no end, and no time stamp from which the next one takes up."""
        windows: dict[int, list[Mapping[str, Any]]] = {}
        for segment in segments:
            windows.setdefault(id(segment["result"]), []).append(segment)
        end, last = self._model.generation_config.eos_token_id, len(windows)
        return any(
            end not in window[0]["result"].tolist() and (number == last or len(window) == 1)
            for number, window in enumerate(windows.values(), 1)
        )


def _samples(request: WritingRequest) -> NDArray[np.float32] | ExampleError:
    if request.sound is None:
        return ExampleError("no_sound", "The item has no clip to be transcribed.")
    try:
        return decode(request.sound, rate=RATE, seconds=LONGEST_S)
    except ExampleError as error:
        return error


def _load_processor(checkpoint: Checkpoint) -> Any:
    try:
        return WhisperProcessor.from_pretrained(checkpoint.folder, local_files_only=True)
    except Exception as error:
        raise SetupError(
            f"{checkpoint.name} has no processor (preprocessor_config.json and a tokenizer) that can be read. Download "
            "it again."
        ) from error


def _language_settings(generation: Any, language: str, name: str) -> dict[str, Any]:
    """The language argument of generation. Models for English alone take nothing. Raises SetupError."""
    if not getattr(generation, "is_multilingual", False):
        if language and language.lower() not in ("en", "english"):
            raise SetupError(
                f"{name} knows English only. Leave the language out, or use a multilingual model."
            )
        return {}
    if language:
        known = {code.strip("<|>") for code in generation.lang_to_id}
        code = _language_code(language)
        if code not in known:
            raise SetupError(f"{name} knows no language {language!r}; it knows {', '.join(sorted(known))}.")
        return {"language": code, "task": "transcribe"}
    return {"task": "transcribe"}


def _language_code(language: str) -> str:
    from transformers.models.whisper.tokenization_whisper import TO_LANGUAGE_CODE

    return str(TO_LANGUAGE_CODE.get(language.lower(), language.lower()))
