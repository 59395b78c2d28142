"""The published CMI-RM: its names become ours, its scores stay its scores, and what is not known is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from scoring.metrics.cmi_rm.checkpoint import load_released_checkpoint
from scoring.metrics.cmi_rm.inputs import AbsentModality, Reduction, collate
from scoring.metrics.contract import SetupError
from tests.scoring.cmi_rm_files import WIDTH, frozen_weights, released_weights, scores, write_released

MEAN = {
    "downsample": {"configs": {"by four": {"kind": "mean", "factor": 4}}, "eval": "by four", "text": "none"}
}


def tokens(seed: int, number: int) -> torch.Tensor:
    return torch.randn(number, WIDTH, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("prompt_depth", "joint_depth"), [(4, 1), (1, 4)])
@pytest.mark.parametrize("cross", [False, True])
def test_scores_are_those_of_a_plain_derivation_from_the_published_weights(
    tmp_path: Path, prompt_depth: int, joint_depth: int, cross: bool
) -> None:
    weights = released_weights(prompt_depth=prompt_depth, joint_depth=joint_depth, cross=cross)
    found = load_released_checkpoint(write_released(tmp_path / "released", weights))
    prompts, sounds = [tokens(1, 5), tokens(2, 0), tokens(3, 1)], [tokens(4, 6), tokens(5, 9), tokens(6, 1)]
    with torch.inference_mode():
        ours = found.model(*collate(prompts, sounds)).numpy()
    plain = [
        scores(weights, prompt.double().numpy(), sound.double().numpy(), cross=cross)
        for prompt, sound in zip(prompts, sounds, strict=True)
    ]
    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)
    assert (found.recipe.shape.prompt_depth, found.recipe.shape.joint_depth) == (prompt_depth, joint_depth)
    assert np.ptp(ours) > 0.1


def test_the_encoders_own_weights_may_be_in_the_file_or_not(tmp_path: Path) -> None:
    weights = released_weights()
    bare, whole = (
        load_released_checkpoint(write_released(tmp_path / name, found)).model.state_dict()
        for name, found in (("bare", weights), ("whole", {**weights, **frozen_weights()}))
    )
    assert bare.keys() == whole.keys()
    assert all(torch.equal(bare[name], whole[name]) for name in bare)


def test_it_is_fed_as_its_code_does(tmp_path: Path) -> None:
    recipe = load_released_checkpoint(write_released(tmp_path / "released", released_weights(), MEAN)).recipe
    assert recipe.feeding.absent is AbsentModality.ENCODED
    assert recipe.feeding.reduction == Reduction(sound=4)
    assert recipe.encoder == "muq-mulan:OpenMuQ/MuQ-MuLan-large"


def test_settings_may_lie_below_a_name_of_their_own(tmp_path: Path) -> None:
    recipe = load_released_checkpoint(
        write_released(tmp_path / "released", released_weights(), {"model": MEAN})
    ).recipe
    assert recipe.feeding.reduction.sound == 4


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"downsample": {"configs": {"b2": {"kind": "conv", "factor": 2}}, "ref": "b2"}}, "'b2'.*'conv'"),
        ({"downsample": {"eval": "unheard"}}, "'unheard', which is None"),
        ({"text_encoder": "t5"}, "text_encoder: 't5', and only 'muqmulan'"),
        ({"train_muq_depth": 2}, "train_muq_depth: 2"),
        ({"freeze_text": False}, "freeze_text: False"),
        ({"mode": "standard"}, "mode: 'standard'"),
    ],
)
def test_what_cannot_be_done_as_trained_is_refused(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    folder = write_released(tmp_path / "released", released_weights(), config)
    with pytest.raises(SetupError, match=said):
        load_released_checkpoint(folder)


def changed(change: str) -> dict[str, torch.Tensor]:
    weights = released_weights()
    if change == "less":
        del weights["joint_transformer.layers.1.1.1.weight"], weights["score_projector.3.bias"]
    elif change == "more":
        weights["regression_head.weight"] = torch.zeros(2)
    elif change == "wider":
        weights["joint_transformer.layers.0.0.to_out.0.weight"] = torch.zeros(WIDTH + 1, 8)
    elif change == "learned reduction":
        weights["eval_downsampler.mlp.0.weight"] = torch.zeros(2, 2)
    elif change == "another model":
        weights = {"fc.weight": torch.zeros(5, 2048)}
    else:
        weights["score_projector.1.weight"][0, 0] = torch.nan
    return weights


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "less",
            r"lacks 2 weights, joint_transformer\.layers\.1\.1\.1\.weight, score_projector\.3\.bias\. .*copy",
        ),
        ("more", r"has no use for 1 weights, regression_head\.weight"),
        (
            "wider",
            r"1 weights .*joint_transformer\.layers\.0\.0\.to_out\.0\.weight is \[13, 8\] and should be \[12, 8\]",
        ),
        ("learned reduction", r"eval_downsampler\.\*"),
        (
            "another model",
            r"no prompt_transformer\.layers\.0\.0\.to_q\.weight of its shape among its 1 weights",
        ),
        ("no number", r"no number in score_projector\.1\.weight"),
    ],
)
def test_weights_that_do_not_fit_are_named_and_counted(tmp_path: Path, change: str, said: str) -> None:
    with pytest.raises(SetupError, match=said):
        load_released_checkpoint(write_released(tmp_path / "released", changed(change)))


def test_an_unreadable_file_is_said_to_be_so(tmp_path: Path) -> None:
    folder = write_released(tmp_path / "released", released_weights())
    (folder / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(SetupError, match=r"model\.safetensors cannot be read"):
        load_released_checkpoint(folder)
    (folder / "config.yaml").write_text("a: [")
    with pytest.raises(SetupError, match=r"config\.yaml cannot be read"):
        load_released_checkpoint(folder)
