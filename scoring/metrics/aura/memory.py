"""What a language model wrote about answers, as JSON in the feature cache: another weight or threshold, and a run
that goes on after it was interrupted, ask the model nothing again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch

from scoring.backbones.loading.feature_cache import FeatureCache, settings_digest

_NAME = "json"


class TextMemory:
    """Values that JSON can hold, by the texts they follow from. `identity`: everything else that they follow from."""

    def __init__(self, cache: FeatureCache, identity: Mapping[str, Any]) -> None:
        self._cache, self._space = cache, settings_digest(dict(identity))

    def get(self, *texts: str) -> Any | None:
        stored = self._cache.get(self._space, settings_digest(texts))
        return None if stored is None else json.loads(bytes(stored[_NAME].numpy()))

    def put(self, value: Any, *texts: str) -> None:
        data = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        self._cache.put(self._space, settings_digest(texts), {_NAME: data})
