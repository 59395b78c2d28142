"""A checkpoint in LAION's form embeds as the same weights do in transformers' form."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import ClapModel

from scoring.backbones.clap.checkpoints import LAION_CHECKPOINTS, load_laion, published_file
from scoring.metrics.contract import SetupError
from tests.scoring.checkpoints import laion_state, tiny_clap_model


@pytest.fixture(scope="module")
def model() -> ClapModel:
    return tiny_clap_model(layer_norm_eps=1e-5)


@pytest.fixture(scope="module")
def expected(model: ClapModel) -> tuple[torch.Tensor, torch.Tensor]:
    return embeddings(model)


@pytest.fixture(scope="module")
def state(model: ClapModel) -> dict[str, torch.Tensor]:
    return laion_state(model)


def embeddings(model: ClapModel) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    sounds = torch.randn(1, 1, 1001, 64) * 20 - 40
    texts = torch.tensor([[0, 9, 30, 17, 2], [0, 8, 40, 2, 1]])
    with torch.inference_mode():
        heard = model.get_audio_features(sounds).pooler_output
        read = model.get_text_features(texts, attention_mask=(texts != 1).long()).pooler_output
    return heard, read


def test_it_embeds_as_the_same_weights_do_in_transformers(expected: Any, state: Any, tmp_path: Path) -> None:
    torch.save({"epoch": 15, "name": "tiny", "state_dict": state}, tmp_path / "tiny.pt")
    loaded = load_laion(tmp_path / "tiny.pt")
    for mine, theirs in zip(embeddings(loaded.model), expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-6)
    assert loaded.mel_filters is not None
    np.testing.assert_allclose(loaded.mel_filters, state["audio_branch.logmel_extractor.melW"].numpy())


@pytest.mark.parametrize("prefix", ["", "module."])
def test_it_takes_bare_weights_and_those_of_several_gpus(
    expected: Any, state: Any, tmp_path: Path, prefix: str
) -> None:
    torch.save({prefix + name: tensor for name, tensor in state.items()}, tmp_path / "tiny.pt")
    torch.testing.assert_close(embeddings(load_laion(tmp_path / "tiny.pt").model)[0], expected[0])


@pytest.mark.parametrize("core", ["core", "_core"])
def test_learning_rates_as_numpy_wrote_them_do_no_harm(state: Any, tmp_path: Path, core: str) -> None:
    optimiser = {"param_groups": [{"lr": np.float64(1e-4)}]}
    torch.save({"state_dict": state, "optimizer": optimiser}, tmp_path / "new.pt")
    _rename_in_pickle(tmp_path / "new.pt", tmp_path / "old.pt", f"numpy.{core}.multiarray")
    assert load_laion(tmp_path / "old.pt").mel_filters is not None


def _rename_in_pickle(source: Path, target: Path, module: str) -> None:
    """The same file as a numpy of another year would have written it."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                assert b"cnumpy._core.multiarray\n" in data
                data = data.replace(b"cnumpy._core.multiarray\n", b"c%s\n" % module.encode())
            new.writestr(entry.filename.replace("new/", "old/"), data)


def test_code_in_a_file_is_never_run(state: Any, tmp_path: Path) -> None:
    torch.save({"state_dict": state, "trap": _Trap(tmp_path / "sprung")}, tmp_path / "tiny.pt")
    with pytest.raises(SetupError, match="holds more than weights"):
        load_laion(tmp_path / "tiny.pt")
    assert not (tmp_path / "sprung").exists()


def test_the_command_that_keeps_the_weights_alone_names_the_file_whatever_it_is_called(
    tmp_path: Path,
) -> None:
    path = tmp_path / 'it\'s $(touch sprung) "x".pt'
    torch.save({"trap": _Trap(tmp_path / "sprung")}, path)
    with pytest.raises(SetupError) as found:
        load_laion(path)
    command = str(found.value).partition("weights alone: ")[2]
    python, option, code, name = shlex.split(command)
    assert (python, option, name) == ("python", "-c", str(path))
    compile(code, "command", "exec")


class _Trap:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def _spoilt(state: dict[str, torch.Tensor], how: str) -> dict[str, torch.Tensor]:
    name = "audio_branch.layers.0.blocks.0.mlp.fc1.weight"
    if how == "lacks":
        return {key: tensor for key, tensor in state.items() if key != name}
    if how == "has no place for":
        return state | {"audio_branch.layers.0.blocks.0.gate.weight": torch.zeros(3)}
    if how == "shapes":
        return state | {name: torch.zeros(7, 7)}
    if how == "feature fusion":
        return state | {"audio_branch.patch_embed.mel_conv2d.weight": torch.zeros(3)}
    return {"encoder.weight": torch.zeros(3)}


@pytest.mark.parametrize(
    "how", ["lacks", "has no place for", "shapes", "feature fusion", "is no CLAP checkpoint"]
)
def test_a_file_with_other_weights_is_refused(state: Any, tmp_path: Path, how: str) -> None:
    torch.save(_spoilt(state, how), tmp_path / "tiny.pt")
    with pytest.raises(SetupError, match=how):
        load_laion(tmp_path / "tiny.pt")


@pytest.mark.parametrize("content", [b"", b"<html>not found</html>", b"PK\x03\x04 and then nothing"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tiny.pt").write_bytes(content)
    with pytest.raises(SetupError, match=r"tiny\.pt"):
        load_laion(tmp_path / "tiny.pt")


@pytest.mark.parametrize("name", LAION_CHECKPOINTS)
def test_a_checkpoint_of_the_table_is_found_by_its_name(tmp_path: Path, name: str) -> None:
    for file in LAION_CHECKPOINTS[name]:
        (tmp_path / file).touch()
        assert published_file(name, tmp_path) == tmp_path / file
        (tmp_path / file).unlink()


@pytest.mark.parametrize("folder", [True, False])
def test_a_checkpoint_that_is_not_there_is_named_with_its_file(tmp_path: Path, folder: bool) -> None:
    with pytest.raises(
        SetupError, match=r"Put music_audioset_epoch_15_esc_90\.14\.pt into .*CONCORD_CHECKPOINTS"
    ):
        published_file("music-as", tmp_path if folder else None)


def test_a_hub_name_means_no_file(tmp_path: Path) -> None:
    assert published_file("laion/clap-htsat-unfused", tmp_path) is None


def test_a_path_with_nothing_behind_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no file .*gone\.pt"):
        published_file(str(tmp_path / "gone.pt"), None)
