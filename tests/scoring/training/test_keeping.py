"""A training that was kept goes on, whatever the host."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from scoring.training.checkpointing import CheckpointStore, TrainingState


def kept(folder: Path) -> tuple[CheckpointStore, torch.nn.Module, torch.optim.Optimizer]:
    module = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(module.parameters())
    keeping = CheckpointStore(folder, fingerprint="same")
    keeping.save_best(module)
    keeping.save(TrainingState({"step": 3}, module, optimizer))
    return keeping, module, optimizer


@pytest.mark.parametrize("n_gpus", [1, 0], ids=["fewer GPUs", "no GPU"])
def test_a_training_goes_on_where_there_are_fewer_gpus(tmp_path, monkeypatch, n_gpus):
    states = [torch.tensor([number], dtype=torch.uint8) for number in range(2)]
    monkeypatch.setattr(torch.cuda, "get_rng_state_all", lambda: states)
    keeping, module, optimizer = kept(tmp_path)
    restored: dict[int, int] = {}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: restored.update({device: int(state[0])})
    )
    assert keeping.restore(module, optimizer) == {"step": 3}
    assert restored == {device: device for device in range(n_gpus)}
