"""FENSE's detector of sentences that are not fluent (Zhou et al., ICASSP 2022), in its published layout.

The file is a dictionary: `model_type` names the encoder on the hub, `num_classes` counts the outputs, the last of which
is "any error", and `state_dict` has the weights, below `encoder.` and `clf.`.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers

from scoring.backbones.encoders.text_vectors import load_tokenizer
from scoring.backbones.loading.checkpoints import download_from_hub, file_digest, is_hub_name
from scoring.backbones.loading.pretrained import first_line
from scoring.metrics.contract import SetupError

_VERSION = 1
# The detector's: of a longer text it sees the beginning.
_LONGEST = 64
_PUBLISHED = ("echecker_clotho_audiocaps_base", "echecker_clotho_audiocaps_tiny")
_WHERE = "release V0.1 of blmoistawinde/fense on GitHub"
_NO_LETTER = re.compile(r"[^\w\s]")
_CONFIGURATION = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)
# Counted up, not learned; older versions of transformers saved it.
_NO_WEIGHT = "encoder.embeddings.position_ids"


class FluencyDetector:
    """The probability that a sentence has an error."""

    def __init__(self, encoder: Any, head: torch.nn.Linear, tokenizer: Any, *, weights: str) -> None:
        self._encoder, self._head, self._tokenizer = encoder, head, tokenizer
        self._device = head.weight.device
        self.identity: Mapping[str, Any] = {"code": f"fluency/{_VERSION}", "weights": weights}

    @torch.inference_mode()
    def error_probability(self, text: str) -> float:
        plain = _NO_LETTER.sub("", text).lower()
        tokens = self._tokenizer(plain, truncation=True, max_length=_LONGEST, return_tensors="pt").to(
            self._device
        )
        first = self._encoder(**tokens).last_hidden_state[:, 0]
        return float(torch.sigmoid(self._head(first).double())[0, -1])


def open_fluency_detector(name: str, *, folder: Path | None, device: torch.device) -> FluencyDetector:
    """`name` is one of the two published, looked for in `folder`, or the path of such a file. Raises SetupError."""
    file = _file(name, folder)
    state = _read(file)
    place = _configuration(str(state["model_type"]), beside=file.parent)
    model_class: Any = transformers.AutoModel  # its methods have no types
    try:
        encoder = model_class.from_config(
            transformers.AutoConfig.from_pretrained(place, local_files_only=True)
        )
        head = torch.nn.Linear(encoder.config.hidden_size, int(state["num_classes"]))
        both = torch.nn.ModuleDict({"encoder": encoder, "clf": head})
        both.load_state_dict({name: part for name, part in state["state_dict"].items() if name != _NO_WEIGHT})
    except Exception as error:  # a configuration that is none, or weights of other names or shapes
        raise SetupError(
            f"{file} and the encoder {state['model_type']} do not fit together: {first_line(error)}. Copy both again."
        ) from error
    both.to(device).eval().requires_grad_(False)
    tokenizer = load_tokenizer(place, name=str(place), vocabulary=encoder.config.vocab_size)
    return FluencyDetector(encoder, head, tokenizer, weights=f"sha256:{file_digest(file)}")


def _file(name: str, folder: Path | None) -> Path:
    if name in _PUBLISHED:
        path = (folder or Path()) / f"{name}.ckpt"
        remedy = f"Put {path.name} of {_WHERE} into {folder or 'a folder'}"
    else:
        path = Path(name).expanduser()
        remedy = f"Give the path of a detector's .ckpt file, or one of {', '.join(_PUBLISHED)}"
    if not path.is_file():
        raise SetupError(
            f"There is no detector of fluency errors at {path}. {remedy}, or use checker=none for the similarity alone."
        )
    return path


def _read(file: Path) -> dict[str, Any]:
    """Only weights are read from the file, never code."""
    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise SetupError(
            f"{file} cannot be read ({first_line(error)}). Copy it again from {_WHERE}."
        ) from error
    if not isinstance(state, dict) or not {"model_type", "num_classes", "state_dict"} <= set(state):
        raise SetupError(
            f"{file} is no detector of fluency errors: it lacks model_type, num_classes or state_dict. Use "
            f"one of {_WHERE}."
        )
    return state


def _configuration(encoder: str, *, beside: Path) -> Path:
    """The folder with the encoder's config.json and tokenizer: beside the file, or the hub's."""
    local = beside / encoder.rpartition("/")[2]
    if (local / "config.json").is_file():
        return local
    name = encoder if is_hub_name(encoder) else f"google-bert/{encoder}"
    try:
        return download_from_hub(name, patterns=_CONFIGURATION)
    except SetupError as error:
        raise SetupError(
            f"The detector was trained on {encoder}, whose configuration and tokenizer are not on this machine: put "
            f"{', '.join(_CONFIGURATION)} into {local}, or allow the hub. {error}"
        ) from error
