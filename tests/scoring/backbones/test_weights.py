"""Which files a model's name means here, and that a changed file is another model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scoring.backbones.weights import digest_of_folder, folder_of
from scoring.metrics.contract import SetupError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    (folder / "part").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "part" / "model.safetensors").write_bytes(b"weights")
    return folder


def test_a_folder_is_taken_as_it_is(model: Path) -> None:
    assert folder_of(str(model)) == model


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"no folder .*gone"):
        folder_of(str(tmp_path / "gone"))


def test_what_is_neither_folder_nor_name_is_refused() -> None:
    with pytest.raises(SetupError, match="neither a folder nor a name"):
        folder_of("a/b/c/d")


def test_without_a_network_it_names_the_command_that_helps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SetupError, match="`hf download some/model`"):
        folder_of("some/model")


def test_one_changed_byte_is_another_model(model: Path) -> None:
    before = digest_of_folder(model)
    (model / "part" / "model.safetensors").write_bytes(b"weighta")
    assert digest_of_folder(model) != before


def test_a_renamed_file_is_another_model(model: Path) -> None:
    before = digest_of_folder(model)
    (model / "config.json").rename(model / "other.json")
    assert digest_of_folder(model) != before


def test_a_copy_with_a_read_me_is_the_same_model(model: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(model, tmp_path / "copy"))
    (copy / "README.md").write_text("What it is.")
    (copy / ".gitattributes").write_text("x")
    assert digest_of_folder(copy) == digest_of_folder(model)


def test_a_snapshot_of_the_hub_is_known_by_its_commit(tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshots" / ("0123456789" * 4)
    snapshot.mkdir(parents=True)
    assert digest_of_folder(snapshot) == "revision:" + "0123456789" * 4
