"""What every prompt begins with (the system prompt), computed once and seen by all that comes after."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from transformers import DynamicCache

# Metrics of one worker use a handful of system prompts.
_KEPT = 8


class SharedPrefix:
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


class Prefixes:
    """The prefixes met so far, those used last kept."""

    def __init__(self, language_model: Any) -> None:
        self._language_model = language_model
        self._known: OrderedDict[tuple[int, ...], SharedPrefix] = OrderedDict()

    def of(self, tokens: tuple[int, ...]) -> SharedPrefix | None:
        if not tokens:
            return None
        if tokens not in self._known:
            self._known[tokens] = self._compute(tokens)
        self._known.move_to_end(tokens)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return self._known[tokens]

    def _compute(self, tokens: tuple[int, ...]) -> SharedPrefix:
        device = self._language_model.embed_tokens.weight.device
        cache: Any = DynamicCache()
        self._language_model(
            input_ids=torch.tensor([tokens], device=device), past_key_values=cache, use_cache=True
        )
        return SharedPrefix([(layer.keys, layer.values) for layer in cache.layers])
