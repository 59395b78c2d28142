"""What a training keeps on disk: all it takes to go on after a kill as if nothing had been, and its best weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class Kept:
    """Where the training stands (plain values), what learns, and how."""

    at: Mapping[str, Any]
    module: torch.nn.Module
    optimizer: torch.optim.Optimizer


class Keeping:
    """In `work`. What was kept under another `fingerprint`, which stands for data, settings and seed, is passed over.

    Files are written to one side and moved into place: a kill leaves the last whole ones. Torch's own generators are
    kept too, so that what is drawn at random goes on where it was.
    """

    def __init__(self, work: Path, *, fingerprint: str) -> None:
        self._resume, self._best = work / "resume.pt", work / "best.pt"
        self._fingerprint = fingerprint

    def keep(self, kept: Kept) -> None:
        _write(
            self._resume,
            {
                "fingerprint": self._fingerprint,
                "at": dict(kept.at),
                "weights": _weights(kept.module),
                "optimizer": kept.optimizer.state_dict(),
                "drawn": torch.get_rng_state(),
                "drawn_on_gpus": torch.cuda.get_rng_state_all(),
            },
        )

    def keep_best(self, module: torch.nn.Module) -> None:
        _write(self._best, {"fingerprint": self._fingerprint, "weights": _weights(module)})

    def put(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any] | None:
        """Everything back in its place, and where the training stood; None where it is to begin."""
        found = self._read(self._resume)
        if found is None or self._read(self._best) is None:
            return None
        _put(module, found["weights"])
        optimizer.load_state_dict(found["optimizer"])
        torch.set_rng_state(found["drawn"])
        # A training runs on one GPU; the host that goes on with it may have fewer than the one that began, or more.
        for device, drawn in zip(range(torch.cuda.device_count()), found["drawn_on_gpus"], strict=False):
            torch.cuda.set_rng_state(drawn, device)
        at: dict[str, Any] = found["at"]
        return at

    def put_best(self, module: torch.nn.Module) -> None:
        found = self._read(self._best)
        if found is None:
            raise FileNotFoundError(f"{self._best} was removed while the training went on.")
        _put(module, found["weights"])

    def clear(self) -> None:
        for file in (self._resume, self._best):
            file.unlink(missing_ok=True)

    def _read(self, file: Path) -> dict[str, Any] | None:
        if not file.is_file():
            return None
        found: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
        return found if found["fingerprint"] == self._fingerprint else None


def _write(file: Path, content: Mapping[str, Any]) -> None:
    part = file.with_name(f".{file.name}.part")
    torch.save(content, part)
    part.replace(file)


def _weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """What can have changed: weights that learn, and buffers. A frozen model of billions is not written again."""
    learning = {name: weight.detach() for name, weight in module.named_parameters() if weight.requires_grad}
    return learning | dict(module.named_buffers())


@torch.no_grad()
def _put(module: torch.nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    places = dict(module.named_parameters()) | dict(module.named_buffers())
    for name, weight in weights.items():
        places[name].copy_(weight)
