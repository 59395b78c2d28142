"""Audio language models of this machine: exact answers from the logits, each sound computed once for all its questions.

A prompt is system, sounds, question. What its tokens are is left to the model's own template and tokenizer; that all
prompts of a hearing begin alike, and all prompts of a metric begin with the same system prompt, is what makes this fast
(see packing.py and prefix.py). The results are those of a plain pass over each whole prompt.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from scoring.backbones.adapters import apply_adapter
from scoring.backbones.chat import Chat
from scoring.backbones.checkpoints import Checkpoint
from scoring.backbones.contract import AnswerTokens, Hearing, Written, YesNo
from scoring.backbones.embeddings import Embeddings
from scoring.backbones.feature_cache import FeatureCache
from scoring.backbones.listening import Family, described, load_extractor
from scoring.backbones.loading import load_model
from scoring.backbones.packing import Packed, Row, groups, pack, split
from scoring.backbones.prefix import Prefixes
from scoring.metrics.contract import ExampleError, SetupError, Sound

# Tokens in one pass, padding included. A GPU is busy well below; activations stay below 4 GB for a 7B model.
_TOKENS_PER_PASS = {"cuda": 16_384, "cpu": 4_096}

Embedded = Mapping[str, torch.Tensor]
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
            "preprocessing": digest({"features": described(extractor), "chat": self._chat.template}),
        }
        listener = family.listener(self._model, extractor)
        space = digest({key: self.identity[key] for key in self.identity if key != "model"})
        self._embeddings = Embeddings(listener, rate=extractor.sampling_rate, cache=cache, space=space)
        self._language_model = self._model.model.language_model
        self._prefixes = Prefixes(self._language_model)
        self._device = device
        self._n_tokens = _TOKENS_PER_PASS[device.type]

    def prepare(self, sounds: Sequence[Sound]) -> None:
        self._embeddings.begin(sounds)

    @torch.inference_mode()
    def ask(
        self, hearings: Sequence[Hearing], *, system: str, answers: AnswerTokens
    ) -> list[Sequence[YesNo] | Exception]:
        tokens = (self._chat.answer_tokens(answers.yes), self._chat.answer_tokens(answers.no))
        found: list[Sequence[YesNo] | Exception] = []
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
            for members in groups([row.length for _, row, _ in entries], n_tokens=self._n_tokens):
                group = [entries[i] for i in members]
                for (i, _, _), readings in zip(group, self._read(before, group, tokens), strict=True):
                    found[i] = readings
        return found

    @torch.inference_mode()
    def write(
        self, hearings: Sequence[Hearing], *, system: str, max_new_tokens: int
    ) -> list[Sequence[Written] | Exception]:
        found: list[list[Written] | Exception] = []
        prompts: list[tuple[int, int, Prompt, Sequence[torch.Tensor]]] = []
        embedded = self._embeddings.of(_all_sounds(hearings))
        for i, hearing in enumerate(hearings):
            try:
                sounds = _sounds_of(hearing, embedded)
                asked = self._prompts(hearing, sounds, system=system)
            except ExampleError as error:
                found.append(error)
                continue
            found.append([Written("")] * len(asked))
            prompts.extend((i, q, prompt, sounds) for q, prompt in enumerate(asked))
        lengths = [len(prompt) + max_new_tokens for _, _, prompt, _ in prompts]
        for members in groups(lengths, n_tokens=self._n_tokens):
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
        """What comes before the first sound, and the rest of the prompts as one row."""
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
    ) -> list[list[YesNo]]:
        rows = [row for _, row, _ in group]
        packed = pack(rows, n_before=len(before), device=self._device)
        embeds = self._embed(packed.ids, [sound for _, _, sounds in group for sound in sounds])
        last = self._hidden(embeds, packed, before)[packed.rows, packed.columns]
        total = self._model.lm_head(last).float().logsumexp(dim=-1)
        yes, no = ((self._log_sum(last, chosen) - total).tolist() for chosen in tokens)
        readings = iter([YesNo(*pair) for pair in zip(yes, no, strict=True)])
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
    ) -> list[Written]:
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
            Written(
                str(text).strip(), cut=ids[n - 1] not in ends, prompt_tokens=len(prompt), completion_tokens=n
            )
            for text, ids, n, (prompt, _) in zip(texts, written.tolist(), n_written, prompts, strict=True)
        ]


def _until_end(ids: Sequence[int], ends: Sequence[int]) -> int:
    """How many tokens there are up to the first that ends, that one included."""
    return next((place for place, token in enumerate(ids, 1) if token in ends), len(ids))


def digest(facts: Mapping[str, Any]) -> str:
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
