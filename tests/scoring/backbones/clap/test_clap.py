"""Embeddings by CLAP: what the model itself gives, whatever the batch, computed once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import ClapModel, ClapProcessor

from scoring.backbones.clap import embeddings as module
from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import MAX_TOKENS, Clap, log_mel, windows_of
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.contract import ExampleError, SetupError, Sound
from tests.annotation.audio.recordings import RATE, encode
from tests.scoring.checkpoints import laion_state, tiny_clap, tiny_clap_model, tiny_roberta_tokenizer

CPU = torch.device("cpu")
SIZE = 10 * RATE


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_clap(tmp_path_factory.mktemp("clap"))


@pytest.fixture(scope="session")
def clips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sound]:
    """Noise of several lengths, each of another loudness and colour."""
    folder = tmp_path_factory.mktemp("clips")
    return {
        name: clip(folder, name, seconds)
        for name, seconds in (("short", 1.7), ("whole", 10.0), ("long", 23.0))
    }


def clip(folder: Path, name: str, seconds: float) -> Sound:
    random = np.random.default_rng(round(seconds * 10))
    steps = np.cumsum(random.normal(size=round(seconds * RATE)))
    samples = random.normal(size=len(steps)) * 0.02 + 0.3 * np.sin(steps / seconds)
    path = folder / f"{name}.flac"
    encode(path, np.rint(samples * 20_000).astype(np.int32)[None], "flac", sample_format="s16", layout="mono")
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, seconds)


def cut(folder: Path, sound: Sound, part: slice) -> Sound:
    pcm = np.rint(samples_of(sound)[part] * 32_768).astype(np.int32)[None]
    path = encode(folder / "cut.flac", pcm, "flac", sample_format="s16", layout="mono")
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, pcm.shape[1] / RATE)


def samples_of(sound: Sound) -> Any:
    from scoring.backbones.loading.sounds import decode

    return decode(sound, rate=RATE, seconds=60)


def opened(checkpoint: Path | str, cache: Path | None = None, *, long_sounds: str = "windows") -> Clap:
    parts = open_clap(str(checkpoint), folder=None, device=CPU)
    kept = FeatureCache(cache or Path("nowhere"), limit_bytes=10**7 if cache else 0)
    return Clap(parts, long_sounds=long_sounds, device=CPU, cache=kept)


@pytest.fixture(scope="session")
def clap(checkpoint: Path) -> Clap:
    return opened(checkpoint)


@pytest.fixture(scope="session")
def plain(checkpoint: Path) -> tuple[ClapModel, ClapProcessor]:
    return ClapModel.from_pretrained(checkpoint).eval(), ClapProcessor.from_pretrained(checkpoint)


def plainly(plain: tuple[ClapModel, ClapProcessor], sound: Any) -> Any:
    """The embedding as transformers' own example computes it, of one sound at a time."""
    model, processor = plain
    inputs = processor(text=["rain"], audio=[sound], sampling_rate=RATE, return_tensors="pt", padding=True)
    with torch.inference_mode():
        return model(**inputs).audio_embeds[0]


@pytest.mark.parametrize("name", ["short", "whole"])
def test_a_sound_is_embedded_as_the_model_s_own_forward_does(
    clap: Clap, plain: Any, clips: Any, name: str
) -> None:
    (mine,) = clap.of_sounds([clips[name]])
    theirs = plainly(plain, samples_of(clips[name]))
    torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)


def test_texts_are_embedded_as_the_model_s_own_forward_does(clap: Clap, plain: Any) -> None:
    model, processor = plain
    texts = ["rain", "a dog barks, then a door is shut twice", "Ein Vogel?"]
    for mine, text in zip(clap.of_texts(texts), texts, strict=True):
        with torch.inference_mode():
            theirs = model.get_text_features(**processor(text=[text], return_tensors="pt")).pooler_output[0]
        torch.testing.assert_close(mine, theirs, rtol=0, atol=1e-5)


def test_different_sounds_and_texts_lie_apart(clap: Clap, clips: Any) -> None:
    short, whole = clap.of_sounds([clips["short"], clips["whole"]])
    rain, dog = clap.of_texts(["rain", "a dog"])
    assert float(short @ whole) < 0.9999  # type: ignore[operator]
    assert float(rain @ dog) < 0.999  # type: ignore[operator]


def test_what_else_is_in_a_batch_changes_nothing(clap: Clap, clips: Any) -> None:
    sounds, texts = list(clips.values()), ["rain", "x" * 60, "a dog barks"]
    for mine, sound in zip(clap.of_sounds(sounds[::-1])[::-1], sounds, strict=True):
        torch.testing.assert_close(mine, clap.of_sounds([sound])[0], rtol=0, atol=1e-6)
    for mine, text in zip(clap.of_texts(texts), texts, strict=True):
        torch.testing.assert_close(mine, clap.of_texts([text])[0], rtol=0, atol=1e-6)


def test_texts_of_one_length_are_batched_in_their_order(clap: Clap) -> None:
    """A batch may show in the last bits: the same texts are put together in every process."""
    texts = ["  ", *(f"text {number:02}" for number in range(20)), "rain"]
    embedded = [text for text, _ in clap._embed_texts(texts)]
    assert embedded == ["  ", "rain", *texts[1:-1]]


def test_a_long_sound_is_the_mean_of_windows_that_cover_it(clap: Clap, plain: Any, clips: Any) -> None:
    samples = samples_of(clips["long"])
    starts = [0, 312_000, 624_000]
    windows = [plainly(plain, samples[start : start + SIZE]) for start in starts]
    expected = torch.nn.functional.normalize(torch.stack(windows).mean(dim=0), dim=0)
    torch.testing.assert_close(clap.of_sounds([clips["long"]])[0], expected, rtol=0, atol=1e-5)


def test_a_crop_is_always_at_the_same_place(checkpoint: Path, clips: Any, tmp_path: Path) -> None:
    opened(checkpoint, tmp_path).of_sounds([clips["long"]])
    # With the memory of windows at hand, which is of no use here.
    (first,) = opened(checkpoint, tmp_path, long_sounds="crop").of_sounds([clips["long"]])
    (second,) = opened(checkpoint, long_sounds="crop").of_sounds([clips["long"]])
    assert torch.equal(first, second)  # type: ignore[arg-type]
    samples = samples_of(clips["long"])
    place = int(hashlib.sha256(clips["long"].sha256.encode()).hexdigest(), 16) % (len(samples) - SIZE + 1)
    (there,) = opened(checkpoint, long_sounds="crop").of_sounds(
        [cut(tmp_path, clips["long"], slice(place, place + SIZE))]
    )
    torch.testing.assert_close(first, there, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("seconds", "number"), [(0.1, 1), (10, 1), (10.1, 2), (20, 2), (20.1, 3)])
def test_windows_cover_the_whole_sound(seconds: float, number: int) -> None:
    samples = np.arange(1, round(seconds * 100) + 1, dtype=np.float32)
    windows = windows_of(samples, 1000, padding="repeatpad")
    assert [len(window) for window in windows] == [1000] * number
    assert set(samples) <= set(np.concatenate(windows))


@pytest.mark.parametrize("padding", ["repeatpad", "repeat", "pad"])
@pytest.mark.parametrize("truncation", ["rand_trunc", "fusion"])
def test_spectrograms_are_those_of_the_published_extractor(clips: Any, padding: str, truncation: str) -> None:
    from transformers import ClapFeatureExtractor

    extractor = ClapFeatureExtractor(frequency_min=50, padding=padding, truncation=truncation)
    samples = samples_of(clips["short"])
    (window,) = windows_of(samples, extractor.nb_max_samples, padding=padding)
    expected = extractor(samples, sampling_rate=RATE, return_tensors="pt")["input_features"][0, 0]
    torch.testing.assert_close(log_mel(window, extractor), expected, rtol=0, atol=1e-3)


def test_a_model_with_feature_fusion_hears_short_sounds_as_published(tmp_path: Path, clips: Any) -> None:
    folder = tiny_clap(tmp_path / "fused", fused=True)
    model, processor = ClapModel.from_pretrained(folder).eval(), ClapProcessor.from_pretrained(folder)
    inputs = processor(
        text=["x"], audio=[samples_of(clips["short"])], sampling_rate=RATE, return_tensors="pt"
    )
    # The extractor calls one sound of each batch long, at random, where none is; LAION's own code does not.
    inputs["is_longer"] = torch.zeros(1, 1, dtype=torch.bool)
    with torch.inference_mode():
        expected = model(**inputs).audio_embeds[0]
    torch.testing.assert_close(opened(folder).of_sounds([clips["short"]])[0], expected, rtol=0, atol=1e-5)


def test_a_second_run_over_the_same_clips_reads_no_sound(
    checkpoint: Path, clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sounds = list(clips.values())
    first = opened(checkpoint, tmp_path).of_sounds(sounds)
    monkeypatch.setattr(module, "decode", None)
    second = opened(checkpoint, tmp_path)
    for mine, before in zip(second.of_sounds(sounds), first, strict=True):
        assert torch.equal(mine, before)  # type: ignore[arg-type]
    assert not isinstance(second.of_texts(["a text nobody asked about"])[0], Exception)


def test_a_text_is_embedded_once(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = opened(checkpoint, tmp_path).of_texts(["rain"])
    again = opened(checkpoint, tmp_path)
    monkeypatch.setattr(again, "_embed_texts", None)
    assert torch.equal(again.of_texts(["rain"])[0], first)  # type: ignore[arg-type]


def test_nothing_is_taken_from_another_model_s_memory(checkpoint: Path, clips: Any, tmp_path: Path) -> None:
    parts = open_clap(str(checkpoint), folder=None, device=CPU)
    shared = FeatureCache(tmp_path, limit_bytes=10**7)
    (before,) = Clap(parts, long_sounds="windows", device=CPU, cache=shared).of_sounds([clips["short"]])
    parts.model.audio_projection.linear2.bias.data += 1
    other = dataclasses.replace(parts, weights="sha256:other")
    (after,) = Clap(other, long_sounds="windows", device=CPU, cache=shared).of_sounds([clips["short"]])
    assert not torch.equal(before, after)  # type: ignore[arg-type]


def test_a_text_that_is_too_long_is_said_to_be(clap: Clap) -> None:
    fits, over = "x" * (MAX_TOKENS - 2), "x" * (MAX_TOKENS - 1)
    kept, refused, empty = clap.of_texts([fits, over, "  "])
    assert isinstance(kept, torch.Tensor)
    assert isinstance(refused, ExampleError)
    assert refused.fault.code == "too_long"
    assert "78 tokens" in refused.fault.message
    assert isinstance(empty, ExampleError)
    assert empty.fault.code == "no_text"


def test_a_sound_that_cannot_be_read_leaves_the_others(clap: Clap, clips: Any, tmp_path: Path) -> None:
    gone = Sound("0" * 64, tmp_path / "gone.flac", 1.0)
    refused, heard = clap.of_sounds([gone, clips["short"]])
    assert isinstance(refused, ExampleError)
    assert refused.fault.code == "missing"
    assert isinstance(heard, torch.Tensor)


def test_a_sound_of_hours_is_a_fault_that_says_how_much_is_heard(
    clap: Clap, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(module, "MAX_SECONDS", 0.2)
    (fault,) = clap.of_sounds([clip(tmp_path, "long", 1.1)])
    assert isinstance(fault, ExampleError)
    assert fault.fault.code == "too_long_sound"


def test_prepared_sounds_are_decoded_once(clap: Clap, clips: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    decode = module.decode
    monkeypatch.setattr(
        module, "decode", lambda sound, **how: read.append(sound.sha256) or decode(sound, **how)
    )
    clap.prepare([clips["short"]])
    clap.prepare([clips["short"], clips["whole"]])
    clap.of_sounds([clips["whole"], clips["short"], clips["short"]])
    assert sorted(read) == sorted([clips["short"].sha256, clips["whole"].sha256])


@pytest.fixture
def laion_file(tmp_path: Path) -> Path:
    """A published .pt file with the tokenizer beside it."""
    state = laion_state(tiny_clap_model(layer_norm_eps=1e-5))
    del state["audio_branch.logmel_extractor.melW"]
    torch.save({"state_dict": state}, tmp_path / "630k-audioset-best.pt")
    tiny_roberta_tokenizer().save_pretrained(tmp_path / "roberta-base")
    return tmp_path / "630k-audioset-best.pt"


def test_a_checkpoint_of_the_table_embeds_as_the_same_weights(
    laion_file: Path, clap: Clap, plain: Any, clips: Any
) -> None:
    parts = open_clap("630k-as", folder=laion_file.parent, device=CPU)
    laion = Clap(parts, long_sounds="windows", device=CPU, cache=FeatureCache(Path("nowhere"), limit_bytes=0))
    # To 16 bits and back, as in the published code.
    published = (samples_of(clips["short"]) * 32767.0).astype(np.int16) / np.float32(32767.0)
    expected = plainly(plain, published)
    torch.testing.assert_close(laion.of_sounds([clips["short"]])[0], expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(laion.of_texts(["rain"]), clap.of_texts(["rain"]), rtol=0, atol=1e-4)


def test_a_laion_file_without_a_tokenizer_names_the_command(
    laion_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (laion_file.parent / "roberta-base").rename(tmp_path / "elsewhere")
    with pytest.raises(SetupError, match="hf download FacebookAI/roberta-base"):
        open_clap(str(laion_file), folder=None, device=CPU)


def test_another_kind_of_model_is_named(tmp_path: Path, checkpoint: Path) -> None:
    config = (
        (checkpoint / "config.json").read_text().replace('"model_type": "clap"', '"model_type": "whisper"')
    )
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes((checkpoint / "model.safetensors").read_bytes())
    with pytest.raises(SetupError, match="of the kind 'whisper'"):
        open_clap(str(tmp_path), folder=None, device=CPU)


def test_an_adapter_of_a_clap_is_to_be_merged_first(tmp_path: Path, checkpoint: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(checkpoint)}))
    with pytest.raises(SetupError, match="Merge it into its base first"):
        open_clap(str(tmp_path), folder=None, device=CPU)


@pytest.mark.parametrize("lacking", ["processor_config.json", "tokenizer.json"])
def test_a_folder_that_lacks_a_part_is_named(tmp_path: Path, checkpoint: Path, lacking: str) -> None:
    for file in checkpoint.iterdir():
        if file.name != lacking:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(SetupError, match=r"lacks the files of its feature extractor|knows \d tokens"):
        open_clap(str(tmp_path), folder=None, device=CPU)
