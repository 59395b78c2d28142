"""The plain way to ask a model: its own processor, its whole prompt, one pass, logits of the last position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

from scoring.backbones.loading.sounds import decode
from scoring.metrics.contract import Sound


class PlainModel:
    def __init__(
        self, folder: Path, model_class: str, processor: Any, dtype: torch.dtype = torch.float32
    ) -> None:
        self.model = getattr(transformers, model_class).from_pretrained(folder, dtype=dtype).eval()
        self.processor = processor

    @torch.inference_mode()
    def log_p(self, sounds: tuple[Sound, ...], question: str, *, system: str) -> tuple[float, float]:
        logits = self.model(**self._inputs(sounds, question, system=system)).logits[0, -1]
        yes, no = (self.processor.tokenizer.encode(word)[0] for word in ("Yes", "No"))
        log_p = logits.float().log_softmax(-1)
        return float(log_p[yes]), float(log_p[no])

    @torch.inference_mode()
    def write(self, sounds: tuple[Sound, ...], question: str, *, system: str, max_new_tokens: int) -> str:
        inputs = self._inputs(sounds, question, system=system)
        tokens = self.model.generate(**inputs, max_new_tokens=max_new_tokens, do_sample=False)
        return str(
            self.processor.tokenizer.decode(
                tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True
            )
        ).strip()

    def _inputs(self, sounds: tuple[Sound, ...], question: str, *, system: str) -> Any:
        content = [{"type": "audio", "audio": "x"} for _ in sounds] + [{"type": "text", "text": question}]
        chat = [
            {"role": "system", "content": [{"type": "text", "text": system}]},
            {"role": "user", "content": content},
        ]
        text = self.processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        audio = [decode(sound, rate=16_000, seconds=60) for sound in sounds]
        inputs = self.processor(text=text, audio=audio or None, sampling_rate=16_000, return_tensors="pt")
        return {key: self._as_model(value) for key, value in inputs.items()}

    def _as_model(self, value: torch.Tensor) -> torch.Tensor:
        return value.to(self.model.dtype) if value.is_floating_point() else value


def omni_processor(folder: Path, processor_class: str) -> Any:
    """An omni processor that sees nothing: its parts for pictures need packages that are not installed."""
    made = object.__new__(getattr(transformers, processor_class))
    made.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    made.feature_extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder)
    made.image_processor = made.video_processor = None
    made.chat_template = made.tokenizer.chat_template
    made.audio_token, made.audio_token_id = made.tokenizer.audio_token, made.tokenizer.audio_token_id
    made.image_token = made.video_token = made.audio_bos_token = made.audio_eos_token = "<none>"
    return made
