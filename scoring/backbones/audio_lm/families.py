"""Model families that listen: Qwen2.5-Omni, Qwen2-Audio, Qwen3-Omni, Audio Flamingo 3; an entry in FAMILIES each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch.nn.functional import gelu, pad, scaled_dot_product_attention
from transformers import AttentionInterface, Qwen2AudioProcessor, WhisperFeatureExtractor
from transformers.utils.logging import disable_progress_bar

from scoring.backbones.audio_lm.model import AudioLanguageModel, Family, Features, Samples
from scoring.backbones.loading.checkpoints import Checkpoint
from scoring.backbones.loading.feature_cache import open_feature_cache
from scoring.backbones.loading.pretrained import device_of, dtype_of
from scoring.metrics.contract import ExampleError, SetupError
from scoring.metrics.registry import Runtime


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


# ── windowed attention, all windows at once ──
# The audio towers of the Omni models attend within windows of a second or two. Without FlashAttention, transformers
# runs one window after the other: thousands of tiny kernels for a batch. Here they are stacked, and one kernel does
# it.

# transformers hands the windows' borders only to implementations that call themselves flash.
WINDOWED_ATTENTION = "windows_like_flash"


def attend_within_windows(tower: Any) -> None:
    AttentionInterface.register(WINDOWED_ATTENTION, _windowed_attention)
    tower.config._attn_implementation = WINDOWED_ATTENTION


def _windowed_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    scaling: float,
    cu_seq_lens_q: torch.Tensor,
    max_length_q: int,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """`query`, `key`, `value`: (1, heads, length, width), windows one after the other, bordered by `cu_seq_lens_q`.
    Returns (1, length, heads, width)."""
    starts, ends = cu_seq_lens_q[:-1, None].long(), cu_seq_lens_q[1:, None].long()
    places = starts + torch.arange(max_length_q, device=query.device)
    inside = places < ends
    even = inside.numel() == query.shape[2]
    places = places.clamp_max(query.shape[2] - 1)
    q, k, v = (tensor[0].transpose(0, 1)[places].transpose(1, 2) for tensor in (query, key, value))
    mask = None if even else inside[:, None, None, :]
    output = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scaling).transpose(1, 2)
    return (output.flatten(0, 1) if even else output[inside])[None], None


# ── Whisper-like audio towers without padding ──
# Qwen2-Audio and Audio Flamingo 3 run their tower over 30 s whatever a sound's length, and mask the rest. Here it
# runs over the longest sound of the batch: the same numbers, and for clips of 10 s a third of the work.


def n_frames_seen(n_frames: int, *, longest: int) -> int:
    """How many mel frames reach what the tower makes of the first `n_frames`: its convolutions look one step ahead of
    the last, into the silence that follows."""
    return min(2 * ((n_frames - 1) // 2 + 1) + 1, longest)


def encode_with_whisper_tower(
    tower: Any, mels: Sequence[torch.Tensor], n_frames: Sequence[int]
) -> list[torch.Tensor]:
    """`mels`: (mels, frames seen) each, `n_frames` of them within the sound. Returns (tokens, width) each."""
    n_after = [(n - 1) // 2 + 1 for n in n_frames]
    longest = max(mel.shape[1] for mel in mels)
    stacked = torch.stack([pad(mel, (0, longest - mel.shape[1])) for mel in mels])
    hidden = gelu(tower.conv1(stacked.to(tower.conv1.weight)))
    hidden = gelu(tower.conv2(hidden)).permute(0, 2, 1)[:, : max(n_after)]
    hidden = hidden + tower.embed_positions.weight[: hidden.shape[1]]
    inside = torch.arange(hidden.shape[1]) < torch.tensor(n_after)[:, None]
    mask = None if bool(inside.all()) else inside[:, None, None, :].to(hidden.device)
    for layer in tower.layers:
        hidden = layer(hidden, mask)
    hidden = tower.avg_pooler(hidden.permute(0, 2, 1)).permute(0, 2, 1)
    hidden = tower.layer_norm(hidden)
    return [one[: n_pooled(n)] for one, n in zip(hidden, n_frames, strict=True)]


class WhisperListener:
    """25 embeddings a second, from windows of Whisper (30 s as published) that do not see each other. The longest sound
    is one window, unless its processor says otherwise: longer ones it would cut off."""

    def __init__(self, model: Any, extractor: WhisperFeatureExtractor, seconds: float | None = None) -> None:
        self._extractor = extractor
        self._model = model.model
        self.seconds = seconds or float(extractor.chunk_length)

    def features(self, samples: Samples) -> Features:
        size = self._extractor.n_samples
        windows = [samples[start : start + size] for start in range(0, len(samples), size)]
        padded = [padded_mel(self._extractor, window, n_samples=size) for window in windows]
        n_frames = [n for _, n in padded]
        if not any(map(n_pooled, n_frames)):
            raise too_short_error()
        seen = n_frames_seen(max(n_frames), longest=padded[0][0].shape[1])
        return {"mel": torch.stack([mel[:, :seen] for mel, _ in padded]), "n_frames": torch.tensor(n_frames)}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        mels = [mel for one in features for mel in one["mel"]]
        n_frames = [int(n) for one in features for n in one["n_frames"]]
        encoded = iter(encode_with_whisper_tower(self._model.audio_tower, mels, n_frames))
        whole = [torch.cat([next(encoded) for _ in one["mel"]]) for one in features]
        return [self._model.multi_modal_projector(one) for one in whole]


# ── the listeners of the Omni models: one tower over all sounds, one after the other ──


class _OmniListener:
    def __init__(self, model: Any, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._tower = model.model.audio_tower
        # Never used here, and 0.7 billion parameters in the published models.
        model.model.visual = None
        attend_within_windows(self._tower)

    def _encode(self, mels: Sequence[torch.Tensor], n_embeddings: Callable[[int], int]) -> list[torch.Tensor]:
        device = next(self._tower.parameters()).device
        lengths = [mel.shape[1] for mel in mels]
        output = self._tower(
            torch.cat(list(mels), dim=1).to(device), feature_lens=torch.tensor(lengths, device=device)
        )
        return list(output.last_hidden_state.split([n_embeddings(length) for length in lengths]))


class Qwen25OmniListener(_OmniListener):
    """25 embeddings a second. The longest sound is the front end's chunk length: 300 s as published."""

    @property
    def seconds(self) -> float:
        return float(self._extractor.chunk_length)

    def features(self, samples: Samples) -> Features:
        """The processor pads to 300 s before it transforms. As much silence as a window reaches over gives the same
        frames at a fraction of the work."""
        extractor = self._extractor
        n_samples = len(samples) + extractor.n_fft
        n_samples += -n_samples % extractor.hop_length
        mel, n_frames = padded_mel(extractor, samples, n_samples=n_samples)
        if not n_pooled(n_frames):
            raise too_short_error()
        return {"mel": mel[:, :n_frames]}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        return self._encode([one["mel"] for one in features], n_pooled)


class Qwen3OmniListener(_OmniListener):
    """13 embeddings a second. Its report states 40 minutes as the longest sound; its processor cuts nothing."""

    seconds = 40 * 60.0

    def features(self, samples: Samples) -> Features:
        """Unlike its forerunners, it is given no silence after the sound: as its processor does with one sound alone.
        Several at once it pads to the longest, which changes their last frame; a score must not depend on that."""
        if len(samples) <= self._extractor.n_fft // 2:
            # Its first frame reaches as far to the left, where the sound is mirrored.
            raise too_short_error()
        output = self._extractor(
            samples, sampling_rate=self._extractor.sampling_rate, padding="longest", truncation=False,
            return_attention_mask=True, return_tensors="pt",
        )  # fmt: skip
        return {"mel": output["input_features"][0][:, : int(output["attention_mask"].sum())]}

    def embed(self, features: Sequence[Features]) -> list[torch.Tensor]:
        """The tower pads chunks to the longest at hand before it convolves them, which shows in the last embedding. A
        sound of several chunks is padded alike in any company; one of less than a chunk (a second) goes alone."""
        mels = [one["mel"] for one in features]
        together = [mel for mel in mels if mel.shape[1] >= self._chunk]
        encoded = iter(self._encode(together, self._n_embeddings) if together else [])
        return [
            next(encoded) if mel.shape[1] >= self._chunk else self._encode([mel], self._n_embeddings)[0]
            for mel in mels
        ]

    @property
    def _chunk(self) -> int:
        return 2 * int(self._tower.n_window)

    def _n_embeddings(self, n_frames: int) -> int:
        """Three strided convolutions over chunks, the last chunk as long as it is: each halves, rounding up."""
        n_chunks, rest = divmod(n_frames, self._chunk)
        return n_chunks * -(-self._chunk // 8) + -(-rest // 8)


def _qwen2_audio_template() -> str:
    """The processor's own: published checkpoints may have none in a file."""
    return str(object.__new__(Qwen2AudioProcessor).default_chat_template)


FAMILIES: tuple[Family, ...] = (
    Family(
        title="Qwen2.5-Omni",  # its thinker
        model_types=("qwen2_5_omni", "qwen2_5_omni_thinker"),
        model_class="Qwen2_5OmniThinkerForConditionalGeneration",
        version=2,
        listener=Qwen25OmniListener,
    ),
    Family(
        title="Qwen2-Audio",
        model_types=("qwen2_audio",),
        model_class="Qwen2AudioForConditionalGeneration",
        version=2,
        listener=WhisperListener,
        template=_qwen2_audio_template,
    ),
    # Base, chat, and think (the base with an adapter from a folder inside its own).
    Family(
        title="Audio Flamingo 3",
        model_types=("audioflamingo3",),
        model_class="AudioFlamingo3ForConditionalGeneration",
        version=2,
        listener=partial(WhisperListener, seconds=600.0),
    ),
    Family(
        title="Qwen3-Omni",
        model_types=("qwen3_omni_moe", "qwen3_omni_moe_thinker"),
        model_class="Qwen3OmniMoeThinkerForConditionalGeneration",
        version=2,
        listener=Qwen3OmniListener,
    ),
)


# ── loading: from a checkpoint to a model of one of the families ──


def open_audio_model(checkpoint: Checkpoint, *, dtype: str, runtime: Runtime) -> AudioLanguageModel:
    """Raises SetupError with what is missing and how to mend it."""
    disable_progress_bar()  # type: ignore[no-untyped-call]
    family = next((family for family in FAMILIES if checkpoint.model_type in family.model_types), None)
    if family is None:
        raise SetupError(
            f"{checkpoint.name} is a model of the kind {checkpoint.model_type or 'unknown'!r}, which does not listen "
            f"and answer. Use one of: {', '.join(family.title for family in FAMILIES)}; or, for texts, a causal "
            "language model with a chat template."
        )
    device = device_of(runtime.device)
    return AudioLanguageModel(
        checkpoint, family, dtype=dtype_of(dtype, device), device=device, cache=open_feature_cache(runtime)
    )
