"""Audio language models of this machine: exact answers from the logits, each sound computed once for all its questions.

A prompt is system, sounds, question. What its tokens are is left to the model's own template and tokenizer; that all
prompts of a hearing begin alike, and all prompts of a metric begin with the same system prompt, is what makes this fast
(see packing.py and prefix.py). The results are those of a plain pass over each whole prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from scoring.backbones.audio_lm.chat import Chat
from scoring.backbones.audio_lm.listening import (
    Family,
    Features,
    Listener,
    extractor_settings,
    load_extractor,
)
from scoring.backbones.audio_lm.packing import Packed, Row, pack, split
from scoring.backbones.contract import AnswerTokens, GeneratedText, Hearing, YesNoLogProbs
from scoring.backbones.loading.adapters import apply_adapter
from scoring.backbones.loading.checkpoints import Checkpoint
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.backbones.loading.pretrained import load_model
from scoring.backbones.loading.sounds import SoundPrefetcher, decode
from scoring.metrics.batching import group_by_length
from scoring.metrics.contract import ExampleError, SetupError, Sound

# ── shared prefix: the system prompt is computed once ──

# Metrics of one worker use a handful of system prompts.
_CACHED_PREFIXES = 8


class PrefixCache:
    """Stands where transformers expects a cache: gives each layer the prefix's keys and values before the new ones, and
    keeps nothing of the new ones, which nobody asks for again."""

    def __init__(self, layers: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self._layers = layers

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        before = (tensor.expand(len(keys), -1, -1, -1) for tensor in self._layers[layer_idx])
        return torch.cat([next(before), keys], dim=2), torch.cat([next(before), values], dim=2)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._layers[layer_idx][0].shape[2]


class PrefixCaches:
    """The prefixes met so far, those used last kept."""

    def __init__(self, language_model: Any) -> None:
        self._language_model = language_model
        self._known: OrderedDict[tuple[int, ...], PrefixCache] = OrderedDict()

    def of(self, tokens: tuple[int, ...]) -> PrefixCache | None:
        if not tokens:
            return None
        if tokens not in self._known:
            self._known[tokens] = self._compute(tokens)
        self._known.move_to_end(tokens)
        while len(self._known) > _CACHED_PREFIXES:
            self._known.popitem(last=False)
        return self._known[tokens]

    def _compute(self, tokens: tuple[int, ...]) -> PrefixCache:
        device = self._language_model.embed_tokens.weight.device
        cache: Any = DynamicCache()
        self._language_model(
            input_ids=torch.tensor([tokens], device=device), past_key_values=cache, use_cache=True
        )
        return PrefixCache([(layer.keys, layer.values) for layer in cache.layers])


# ── embeddings of sounds: cached, or decoded, transformed and run through the audio tower ──

# Mel frames through a tower in one pass, about five minutes of sound.
_FRAMES_PER_PASS = 32_768


@dataclass(frozen=True)
class _PreparedSound:
    """One of the two is there."""

    kept: torch.Tensor | None = None
    features: Features | None = None


class SoundEmbeddings:
    """`space` names what the embeddings depend on, besides the sound."""

    def __init__(self, listener: Listener, *, rate: int, cache: FeatureCache, space: str) -> None:
        self._listener = listener
        self._rate = rate
        self._cache = cache
        self._space = space
        self._preparation = SoundPrefetcher(self._prepare)

    def begin(self, sounds: Sequence[Sound]) -> None:
        self._preparation.begin(sounds)

    def of(self, sounds: Sequence[Sound]) -> dict[str, torch.Tensor | ExampleError]:
        """By the sound's content: embeddings (tokens, width), or why there are none."""
        found: dict[str, torch.Tensor | ExampleError] = {}
        waiting: dict[str, Features] = {}
        for key, future in self._preparation.take(sounds).items():
            try:
                prepared = future.result()
            except ExampleError as error:
                found[key] = error
                continue
            if prepared.kept is not None:
                found[key] = prepared.kept
            elif prepared.features is not None:
                waiting[key] = prepared.features
        keys = list(waiting)
        n_frames = [waiting[key]["mel"].shape[-1] * waiting[key]["mel"][..., 0, 0].numel() for key in keys]
        for members in group_by_length(n_frames, n_tokens=_FRAMES_PER_PASS):
            group = [keys[i] for i in members]
            for key, embedded in zip(
                group, self._listener.embed([waiting[key] for key in group]), strict=True
            ):
                found[key] = embedded
                self._cache.put(self._space, key, {"embeddings": embedded})
        return found

    def _prepare(self, sound: Sound) -> _PreparedSound:
        """In a thread."""
        kept = self._cache.get(self._space, sound.sha256)
        if kept is not None:
            return _PreparedSound(kept=kept["embeddings"])
        samples = decode(sound, rate=self._rate, seconds=self._listener.seconds)
        return _PreparedSound(features=self._listener.features(samples))


# Tokens in one pass, padding included. A GPU is busy well below; activations stay below 4 GB for a 7B model.
_TOKENS_PER_PASS = {"cuda": 16_384, "cpu": 4_096}

Prompt = list[int]


class AudioLanguageModel:
    """A Backbone whose weights are in this process."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        family: Family,
        *,
        dtype: torch.dtype,
        device: torch.device,
        cache: FeatureCache,
    ) -> None:
        model = load_model(family.model_class, checkpoint, dtype=dtype, device=device)
        self._model = apply_adapter(model, checkpoint)
        extractor = load_extractor(checkpoint.folder)
        self._chat = Chat(
            checkpoint.folder, placeholder=self._model.config.audio_token_id, template=family.template()
        )
        self.identity: Mapping[str, Any] = {
            "family": family.title,
            "code": family.version,
            **({"model": checkpoint.name} if checkpoint.is_published else {}),
            "weights": checkpoint.revision,
            "dtype": str(dtype).removeprefix("torch."),
            "sampling_rate": extractor.sampling_rate,
            "preprocessing": settings_digest(
                {"features": extractor_settings(extractor), "chat": self._chat.template}
            ),
        }
        listener = family.listener(self._model, extractor)
        space = settings_digest({key: self.identity[key] for key in self.identity if key != "model"})
        self._embeddings = SoundEmbeddings(listener, rate=extractor.sampling_rate, cache=cache, space=space)
        self._language_model = self._model.model.language_model
        self._prefixes = PrefixCaches(self._language_model)
        self._device = device
        self._n_tokens = _TOKENS_PER_PASS[device.type]

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self._embeddings.begin(sounds)

    @torch.inference_mode()
    def answer_logprobs(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNoLogProbs] | Exception]:
        tokens = (self._chat.answer_tokens(answers.yes), self._chat.answer_tokens(answers.no))
        found: list[Sequence[YesNoLogProbs] | Exception] = []
        open_rows: dict[tuple[int, ...], list[tuple[int, Row, Sequence[torch.Tensor]]]] = {}
        embedded = self._embeddings.of(_all_sounds(hearings))
        for hearing in hearings:
            try:
                sounds = _sounds_of(hearing, embedded)
                before, row = self._row(hearing, sounds, system=system)
            except ExampleError as error:
                found.append(error)
                continue
            open_rows.setdefault(before, []).append((len(found), row, sounds))
            found.append([])
        for before, entries in open_rows.items():
            for members in group_by_length([row.length for _, row, _ in entries], n_tokens=self._n_tokens):
                group = [entries[i] for i in members]
                for (i, _, _), readings in zip(group, self._read(before, group, tokens), strict=True):
                    found[i] = readings
        return found

    @torch.inference_mode()
    def generate(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[GeneratedText] | Exception]:
        found: list[list[GeneratedText] | Exception] = []
        prompts: list[tuple[int, int, Prompt, Sequence[torch.Tensor]]] = []
        embedded = self._embeddings.of(_all_sounds(hearings))
        for i, hearing in enumerate(hearings):
            try:
                sounds = _sounds_of(hearing, embedded)
                asked = self._prompts(hearing, sounds, system=system)
            except ExampleError as error:
                found.append(error)
                continue
            found.append([GeneratedText("")] * len(asked))
            prompts.extend((i, q, prompt, sounds) for q, prompt in enumerate(asked))
        lengths = [len(prompt) + max_new_tokens for _, _, prompt, _ in prompts]
        for members in group_by_length(lengths, n_tokens=self._n_tokens):
            group = [prompts[m] for m in members]
            texts = self._generate([(prompt, sounds) for _, _, prompt, sounds in group], max_new_tokens)
            for (i, q, _, _), text in zip(group, texts, strict=True):
                answer = found[i]
                assert isinstance(answer, list)
                answer[q] = text
        return list(found)

    def _prompts(self, hearing: Hearing, sounds: Sequence[torch.Tensor], *, system: str) -> list[Prompt]:
        """One per question, with as many placeholders for each sound as it has embeddings."""
        prompts = self._chat.prompts(hearing.questions, system=system, n_sounds=len(sounds))
        return [self._spread(prompt, sounds) for prompt in prompts]

    def _spread(self, prompt: Prompt, sounds: Sequence[torch.Tensor]) -> Prompt:
        if prompt.count(self._chat.placeholder) != len(sounds):
            raise SetupError(
                "This model's chat template has no place for sounds. Use the model's own template."
            )
        sizes = iter(sounds)
        spread: Prompt = []
        for token in prompt:
            spread.extend([token] * (len(next(sizes)) if token == self._chat.placeholder else 1))
        return spread

    def _row(
        self, hearing: Hearing, sounds: Sequence[torch.Tensor], *, system: str
    ) -> tuple[tuple[int, ...], Row]:
        """The prefix before the first sound, and the rest of the prompts as one row."""
        prompts = self._prompts(hearing, sounds, system=system)
        n_before = prompts[0].index(self._chat.placeholder) if sounds else 0
        row = split([prompt[n_before:] for prompt in prompts])
        if any(self._chat.placeholder in question for question in row.questions):
            raise SetupError(
                "This model's chat template puts the question before the sound, or repeats the sound."
            )
        return tuple(prompts[0][:n_before]), row

    def _read(
        self,
        before: tuple[int, ...],
        group: Sequence[tuple[int, Row, Sequence[torch.Tensor]]],
        tokens: tuple[list[int], list[int]],
    ) -> list[list[YesNoLogProbs]]:
        rows = [row for _, row, _ in group]
        packed = pack(rows, n_before=len(before), device=self._device)
        embeds = self._embed(packed.ids, [sound for _, _, sounds in group for sound in sounds])
        last = self._hidden(embeds, packed, before)[packed.rows, packed.columns]
        total = self._model.lm_head(last).float().logsumexp(dim=-1)
        yes, no = ((self._log_sum(last, chosen) - total).tolist() for chosen in tokens)
        readings = iter([YesNoLogProbs(*pair) for pair in zip(yes, no, strict=True)])
        return [[next(readings) for _ in row.questions] for row in rows]

    def _log_sum(self, last: torch.Tensor, chosen: list[int]) -> torch.Tensor:
        """Of the logits of a few tokens, in float32: the model's own in bfloat16 lie an eighth apart where they are
        around 20, and scores follow from the difference of two. What both are divided by may be as coarse as it is: it
        falls out of the difference."""
        head = self._model.lm_head
        bias = None if head.bias is None else head.bias[chosen].float()
        logits = torch.nn.functional.linear(last.float(), head.weight[chosen].float(), bias)
        return logits.logsumexp(dim=-1)

    def _hidden(self, embeds: torch.Tensor, packed: Packed, before: tuple[int, ...]) -> torch.Tensor:
        hidden_from = torch.zeros(packed.mask.shape, dtype=embeds.dtype, device=self._device)
        hidden_from.masked_fill_(~packed.mask, float("-inf"))
        prefix = self._prefixes.of(before)
        found = self._language_model(
            inputs_embeds=embeds,
            attention_mask=hidden_from,
            position_ids=packed.positions,
            past_key_values=prefix,
            use_cache=prefix is not None,
        )
        return torch.as_tensor(found.last_hidden_state)

    def _embed(self, ids: torch.Tensor, sounds: Sequence[torch.Tensor]) -> torch.Tensor:
        """Embeddings of tokens (rows, length), the sounds' in the place of their placeholders, in the order of both."""
        embeds = self._language_model.embed_tokens(ids)
        if not sounds:
            return torch.as_tensor(embeds)
        heard = torch.cat([sound.to(embeds) for sound in sounds])
        return torch.as_tensor(embeds.masked_scatter((ids == self._chat.placeholder)[..., None], heard))

    def _generate(
        self, prompts: Sequence[tuple[Prompt, Sequence[torch.Tensor]]], max_new_tokens: int
    ) -> list[GeneratedText]:
        """Greedy, whatever the model's own generation settings are."""
        width = max(len(prompt) for prompt, _ in prompts)
        ends = self._chat.end_tokens()
        ids = torch.full((len(prompts), width), ends[0], device=self._device)
        attended = torch.zeros_like(ids)
        for i, (prompt, _) in enumerate(prompts):
            ids[i, width - len(prompt) :] = torch.tensor(prompt, device=self._device)
            attended[i, width - len(prompt) :] = 1
        written = self._model.generate(
            inputs_embeds=self._embed(ids, [sound for _, sounds in prompts for sound in sounds]),
            attention_mask=attended,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            eos_token_id=ends,
            pad_token_id=ends[0],
        )
        texts = self._chat.tokenizer.batch_decode(written, skip_special_tokens=True)
        # What ends an answer counts as written; what pads it to the longest of the batch does not.
        n_written = [_until_end(ids, ends) for ids in written.tolist()]
        return [
            GeneratedText(
                str(text).strip(), cut=ids[n - 1] not in ends, prompt_tokens=len(prompt), completion_tokens=n
            )
            for text, ids, n, (prompt, _) in zip(texts, written.tolist(), n_written, prompts, strict=True)
        ]


def _until_end(ids: Sequence[int], ends: Sequence[int]) -> int:
    """The number of tokens up to and including the first end token."""
    return next((place for place, token in enumerate(ids, 1) if token in ends), len(ids))


def settings_digest(facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _all_sounds(hearings: Sequence[Hearing]) -> list[Sound]:
    return [sound for hearing in hearings for sound in hearing.sounds]


def _sounds_of(hearing: Hearing, embedded: Mapping[str, torch.Tensor | ExampleError]) -> list[torch.Tensor]:
    """Raises what kept one of them from being heard."""
    found = []
    for sound in hearing.sounds:
        heard = embedded[sound.sha256]
        if isinstance(heard, ExampleError):
            raise heard
        found.append(heard)
    return found
