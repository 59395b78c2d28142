from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AudioFlamingo3Processor

from scoring.backbones.contract import AnswerTokens, Hearing
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Workplace
from tests.scoring.backbones.plain import PlainModel
from tests.scoring.checkpoints import tiny_flamingo
from tests.scoring.sounds import sound


@pytest.fixture
def think(tmp_path: Path) -> Path:
    return tiny_flamingo(tmp_path / "flamingo", think=True)


def asked(name: Path, hearing: Hearing) -> tuple[float, float]:
    backbone = open_backbone(str(name), dtype="float32", workplace=Workplace(name / "cache", 0, "cpu"))
    ((found,),) = backbone.ask([hearing], system="Listen.", answers=AnswerTokens())
    return found.yes, found.no


def test_every_weight_of_an_adapter_is_applied_under_the_names_of_its_time(think, tmp_path):
    hearing = Hearing((sound(tmp_path, seconds=1.1),), ("A dog?",))
    plain = PlainModel(
        think.parent,
        "AudioFlamingo3ForConditionalGeneration",
        AudioFlamingo3Processor.from_pretrained(think.parent),
    )
    _apply_by_hand(plain.model, think)
    expected = plain.log_p(hearing.sounds, hearing.questions[0], system="Listen.")
    assert asked(think, hearing) == pytest.approx(expected, abs=1e-4)
    assert asked(think.parent, hearing) != pytest.approx(expected, abs=1e-2)


def test_an_adapter_of_another_model_is_refused(think):
    weights = think / "adapter_model.safetensors"
    save_file({f"{name}.x": tensor for name, tensor in load_file(weights).items()}, weights)
    with pytest.raises(SetupError, match="does not fit its model"):
        open_backbone(str(think), dtype="float32", workplace=Workplace(think / "cache", 0, "cpu"))


def _apply_by_hand(model: torch.nn.Module, adapter: Path) -> None:
    """W + alpha/r B A, and what lies beside the adapter whole."""
    weights = load_file(adapter / "adapter_model.safetensors")
    own = model.state_dict()
    downs = [name for name in weights if "lora_A" in name]
    assert any("audio_tower" in name for name in downs)
    assert any("language_model" in name for name in downs)
    for down in downs:
        name = down.removeprefix("base_model.model.").replace("lora_A.", "")
        name = name.replace("language_model.model", "language_model")
        own[f"model.{name}"] += 8 / 2 * weights[down.replace("lora_A", "lora_B")] @ weights[down]
    for name, tensor in torch.load(adapter / "non_lora_trainables.bin", weights_only=True).items():
        own[f"model.{name}"].copy_(tensor)
