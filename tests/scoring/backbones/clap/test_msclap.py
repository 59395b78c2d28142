"""MS-CLAP 2023 from its published file: what its own code embeds, with the same weights."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from scoring.backbones.clap.checkpoints import open_clap
from scoring.backbones.clap.embeddings import MAX_TOKENS, MICROSOFT, Clap, ClapParts
from scoring.backbones.clap.msclap import FILE, NAME
from scoring.backbones.loading.feature_cache import FeatureCache
from scoring.metrics.aura.formula import RELEASED_CLAP
from scoring.metrics.contract import ExampleError, SetupError, Sound
from tests.annotation.audio.recordings import encode
from tests.scoring.msclap_checkpoint import msclap_state, published_filters, save_msclap

CPU = torch.device("cpu")
RATE = 44_100

# Of the package msclap 1.3.4 (`msclap/models`, with torchlibrosa 0.1.0): these weights in HTSAT_Swin_Transformer and
# Projection of these sizes and in transformers' GPT2Model, loaded by their own names, and read as CLAPWrapper reads.
PUBLISHED_SOUNDS = {
    2.9: (0.2800619, 0.1015343, -0.6070440, -0.0094453, 0.4861662, -0.5127727, 0.1512105, 0.1432007),
    7.0: (0.2803305, 0.1013217, -0.6070571, -0.0091736, 0.4857748, -0.5129312, 0.1516375, 0.1430968),
}
PUBLISHED_TEXTS = {
    "A dog barks.": (
        *(0.2986382, 0.3940072, 0.1373346, 0.3226573, -0.1124329, -0.4410949, -0.1988700, -0.6211682),
    ),
    # "!" fills texts up, so the state is read one token earlier.
    "Stop! A man shouts.": (
        *(-0.4262221, -0.4006616, -0.2469514, -0.1403402, 0.0047957, 0.2306692, 0.3615835, 0.6270171),
    ),
}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_msclap(tmp_path_factory.mktemp("msclap"))


@pytest.fixture(scope="module")
def parts(checkpoint: Path) -> ClapParts:
    return open_clap(NAME, folder=checkpoint.parent, device=CPU)


@pytest.fixture(scope="module")
def clap(parts: ClapParts) -> Clap:
    return Clap(parts, long_sounds="windows", device=CPU, cache=FeatureCache(Path("nowhere"), limit_bytes=0))


def clip(folder: Path, seconds: float) -> Sound:
    at = np.arange(round(seconds * RATE))
    pcm = np.rint(9000 * np.sin(at * (0.01 + at / 9e6)) + 3000 * np.sin(at * 0.31)).astype(np.int32)
    path = folder / f"{seconds}.flac"
    encode(path, pcm[None], "flac", rate=RATE, sample_format="s16", layout="mono")
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, seconds)


def test_sounds_embed_as_in_the_published_code(clap: Clap, tmp_path: Path) -> None:
    embedded = clap.of_sounds([clip(tmp_path, seconds) for seconds in PUBLISHED_SOUNDS])
    for mine, published in zip(embedded, PUBLISHED_SOUNDS.values(), strict=True):
        np.testing.assert_allclose(mine, published, rtol=0, atol=3e-6)


def test_texts_embed_as_in_the_published_code_whatever_the_batch(clap: Clap) -> None:
    for texts in (list(PUBLISHED_TEXTS), ["Stop! A man shouts."]):
        for text, mine in zip(texts, clap.of_texts(texts), strict=True):
            np.testing.assert_allclose(mine, PUBLISHED_TEXTS[text], rtol=0, atol=3e-6)


def test_a_long_sound_is_heard_in_windows_of_seven_seconds(clap: Clap) -> None:
    assert clap.of_windows(np.ones(7 * RATE, np.float32)).shape == (1, 8)
    assert clap.of_windows(np.ones(7 * RATE + 1, np.float32)).shape == (2, 8)


def test_the_end_of_a_text_counts_among_its_tokens(clap: Clap) -> None:
    fits, long = clap.of_texts(["a" * (MAX_TOKENS - 2), "a" * (MAX_TOKENS - 1)])
    assert isinstance(fits, torch.Tensor)
    assert isinstance(long, ExampleError)
    assert long.fault.code == "too_long"


def test_filters_are_the_file_s_and_else_those_of_the_published_code(
    parts: ClapParts, tmp_path: Path
) -> None:
    np.testing.assert_allclose(parts.extractor.mel_filters_slaney, published_filters(), atol=1e-8)
    state = msclap_state()
    own = save_msclap(tmp_path)
    del state["audio_encoder.base.htsat.logmel_extractor.melW"]
    torch.save({"model": state}, own)
    opened = open_clap(str(own), folder=None, device=CPU)
    np.testing.assert_array_equal(opened.extractor.mel_filters_slaney, published_filters())


def test_thresholds_of_aura_are_made_for_this_one(parts: ClapParts) -> None:
    assert parts.family == MICROSOFT == RELEASED_CLAP


@pytest.mark.parametrize(
    ("left", "fault"),
    [
        ("caption_encoder.base.h.1.mlp.c_fc.weight", "lacks text_model.h.1.mlp.c_fc.weight"),
        ("audio_encoder.base.htsat.layers.2.blocks.0.attn.qkv.bias", "lacks audio_model"),
        ("caption_encoder.projection.linear2.weight", r"lacks text_projection\.linear2"),
        ("caption_encoder.base.wte.weight", "is no MS-CLAP of 2023.*CLAP_weights_2022"),
    ],
)
def test_a_file_with_other_weights_is_refused(tmp_path: Path, left: str, fault: str) -> None:
    path = save_msclap(tmp_path)
    state = msclap_state()
    del state[left]
    torch.save({"model": state}, path)
    with pytest.raises(SetupError, match=fault):
        open_clap(str(path), folder=None, device=CPU)


def test_without_the_file_the_error_names_its_source(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=f"Put {FILE} into .*hf download microsoft/msclap"):
        open_clap(NAME, folder=tmp_path, device=CPU)


def test_without_its_tokenizer_the_error_names_it(checkpoint: Path, tmp_path: Path) -> None:
    alone = tmp_path / FILE
    alone.write_bytes(checkpoint.read_bytes())
    (tmp_path / "gpt2").mkdir()
    with pytest.raises(SetupError, match=r"openai-community/gpt2.*a folder gpt2 beside"):
        open_clap(str(alone), folder=None, device=CPU)
