from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from safetensors.torch import load_file, save_file

from scoring.backbones.loading import checkpoints as files
from scoring.backbones.loading import pretrained
from scoring.backbones.opening import open_backbone
from scoring.metrics.contract import SetupError
from scoring.metrics.registry import Runtime
from tests.scoring.checkpoints import tiny_qwen_omni

REALLY_TRIED = pretrained._supports_bfloat16


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_qwen_omni(tmp_path_factory.mktemp("intact"))


@pytest.fixture
def checkpoint(intact: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(intact, tmp_path / "checkpoint"))


def opened(name: Path | str, tmp_path: Path, *, device: str = "cpu", dtype: str = "auto"):
    return open_backbone(str(name), dtype=dtype, runtime=Runtime(tmp_path / "cache", 0, device))


def refusal(name: Path | str, tmp_path: Path, **how: str) -> str:
    with pytest.raises(SetupError) as error:
        opened(name, tmp_path, **how)
    return str(error.value)


def test_a_model_that_is_not_here_is_asked_for_by_the_command_that_fetches_it(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    message = refusal("Qwen/Qwen2.5-Omni-7B", tmp_path)
    assert "HF_HUB_OFFLINE" in message
    assert "hf download Qwen/Qwen2.5-Omni-7B" in message


def test_what_the_hub_gave_before_is_opened_without_a_network_and_known_by_its_commit(
    checkpoint, tmp_path, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    repository, commit = tmp_path / "models--some--model", "a" * 40
    shutil.copytree(checkpoint, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    identity = opened("some/model", tmp_path).identity
    assert (identity["model"], identity["weights"]) == ("some/model", commit)
    assert "no folder think" in refusal("some/model/think", tmp_path)


@pytest.mark.parametrize(
    ("error", "remedy"), [(GatedRepoError, "accept its terms"), (RepositoryNotFoundError, "check the name")]
)
def test_what_the_hub_refuses_is_mended_by_a_token(tmp_path, monkeypatch, error, remedy):
    def refuse(*args: object, **kwargs: object) -> None:
        raise error.__new__(error)

    monkeypatch.setattr(files, "snapshot_download", refuse)
    message = refusal("some/model", tmp_path)
    assert remedy in message
    assert "HF_TOKEN" in message


@pytest.mark.parametrize("name", ["/nowhere/at/all/here", "./weights", "no model"])
def test_a_path_that_leads_nowhere_is_not_looked_up_on_the_hub(tmp_path, name):
    assert f"There is no folder {name}" in refusal(name, tmp_path)


def test_a_folder_without_a_config_is_no_checkpoint(tmp_path):
    assert "no config.json" in refusal(tmp_path, tmp_path)


LISTENING = "Use one of: Qwen2.5-Omni, Qwen2-Audio, Audio Flamingo 3, Qwen3-Omni"
SHARD = {"weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("config.json", {"model_type": "wav2vec2"}, LISTENING),
        ("config.json", {"model_type": "clap"}, LISTENING),
        ("config.json", {"model_type": ""}, LISTENING),
        ("model.safetensors.index.json", SHARD, "lacks model-00002-of-00002.safetensors"),
        ("model.safetensors", None, "holds no weights"),
        ("tokenizer.json", None, "no tokenizer"),
        ("preprocessor_config.json", None, "no preprocessor_config"),
    ],
)
def test_a_checkpoint_without_a_part_it_needs_is_refused(checkpoint, tmp_path, file, content, reason):
    if content is None:
        (checkpoint / file).unlink()
        (checkpoint / "tokenizer_config.json").unlink()
    else:
        (checkpoint / file).write_text(json.dumps(content))
    assert reason in refusal(checkpoint, tmp_path)


def test_a_partial_download_is_found_before_it_is_loaded(checkpoint, tmp_path):
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert "partial download" in refusal(checkpoint, tmp_path)


def test_no_weight_is_made_up_and_none_of_another_size_is_taken(checkpoint, tmp_path):
    weights = load_file(checkpoint / "model.safetensors")
    weights["lm_head.weight"] = weights.pop("lm_head.weight")[:, :8].contiguous()
    save_file(weights, checkpoint / "model.safetensors", {"format": "pt"})
    assert "cannot be loaded" in refusal(checkpoint, tmp_path)
    del weights["lm_head.weight"]
    save_file(weights, checkpoint / "model.safetensors", {"format": "pt"})
    assert "lacks 1 weights, lm_head.weight" in refusal(checkpoint, tmp_path)


def test_a_gpu_that_is_not_there_is_not_replaced_in_silence(checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    assert "offers 0 GPUs" in refusal(checkpoint, tmp_path, device="cuda")
    assert "is no device" in refusal(checkpoint, tmp_path, device="gpu")
    assert "use auto, cpu, cuda or cuda:1" in refusal(checkpoint, tmp_path, device="mps")


@pytest.mark.parametrize("trial", ["import os, signal; os.kill(os.getpid(), signal.SIGILL)", ""])
def test_a_processor_that_refuses_bfloat16_is_found_out_before_it_ends_the_worker(
    checkpoint, tmp_path, monkeypatch, trial
):
    monkeypatch.setattr(pretrained, "_supports_bfloat16", REALLY_TRIED.__wrapped__)
    monkeypatch.setattr(pretrained, "_TRIAL", trial)
    if trial:
        said = refusal(checkpoint, tmp_path, dtype="bfloat16")
        assert "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in said
    else:
        assert opened(checkpoint, tmp_path, dtype="bfloat16").identity["dtype"] == "bfloat16"


def test_what_can_change_a_score_changes_the_identity(checkpoint, tmp_path):
    first = opened(checkpoint, tmp_path).identity
    assert opened(checkpoint, tmp_path).identity == first
    assert opened(checkpoint, tmp_path, dtype="bfloat16").identity != first
    template = checkpoint / "chat_template.jinja"
    template.write_text(template.read_text().replace("helpful", "listening"))
    changed = opened(checkpoint, tmp_path).identity
    assert {key for key in first if first[key] != changed[key]} == {"weights", "preprocessing"}


def test_a_model_is_the_same_wherever_its_folder_lies_and_whatever_its_name(checkpoint, tmp_path):
    first = opened(checkpoint, tmp_path).identity
    moved = shutil.move(checkpoint, tmp_path / "elsewhere" / "another name")
    assert opened(moved, tmp_path).identity == first


@pytest.mark.parametrize("place", ["inside its model", "elsewhere"])
def test_an_adapter_is_known_by_its_model_too(intact, tmp_path, place):
    bases, adapted = [], []
    for number in range(2):
        base = Path(shutil.copytree(intact, tmp_path / f"base {number}"))
        (base / "generation_config.json").write_text(json.dumps({"number": number}))
        adapter = (base if place == "inside its model" else tmp_path) / f"adapter {number}"
        adapter.mkdir()
        (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(base)}))
        bases.append(files.find_checkpoint(str(base)).revision)
        adapted.append(files.find_checkpoint(str(adapter)).revision)
    assert [revision.partition("+")[0] for revision in adapted] == bases
    assert len({*bases, *adapted}) == 4


def test_a_commit_that_holds_several_models_tells_them_apart(checkpoint, tmp_path, monkeypatch):
    root = tmp_path / ("a" * 40)
    shutil.copytree(checkpoint, root / "other")
    shutil.copytree(checkpoint, root, dirs_exist_ok=True)
    (root / "think").mkdir()
    (root / "think" / "adapter_config.json").write_text("{}")
    monkeypatch.setattr(files, "snapshot_download", lambda *args, **kwargs: str(root))
    names = ("some/model", "some/model/other", "some/model/think")
    assert [files.find_checkpoint(name).revision for name in names] == [
        root.name, f"{root.name}/other", f"{root.name}+{root.name}/think",
    ]  # fmt: skip


def authors_layout(folder: Path) -> Path:
    """As Audio Flamingo 3 is published for its authors' own program."""
    for part in ("llm", "sound_tower", "sound_mm_projector"):
        (folder / part).mkdir(parents=True)
        (folder / part / "config.json").write_text("{}")
    (folder / "config.json").write_text('{"model_type": "llava_llama"}')
    return folder


def test_the_layout_of_audio_flamingos_authors_is_refused_before_its_weights_are_downloaded(
    tmp_path, monkeypatch
):
    published, patterns = authors_layout(tmp_path / ("a" * 40)), []

    def download(repository: str, *, allow_patterns: list[str]) -> str:
        patterns.append(allow_patterns)
        return str(published)

    monkeypatch.setattr(files, "snapshot_download", download)
    for name in ("nvidia/audio-flamingo-3-chat", str(published)):
        message = refusal(name, tmp_path)
        assert "llm, sound_tower, sound_mm_projector" in message
        assert "Use nvidia/audio-flamingo-3-hf" in message
    assert patterns == [["config.json", "*/config.json"]]


def test_an_adapter_of_an_adapter_is_refused(checkpoint, tmp_path):
    for name, base in (("first", checkpoint), ("second", tmp_path / "first")):
        (tmp_path / name).mkdir()
        config = {"base_model_name_or_path": str(base)}
        (tmp_path / name / "adapter_config.json").write_text(json.dumps(config))
    assert "Merge that into its base first" in refusal(tmp_path / "second", tmp_path)
