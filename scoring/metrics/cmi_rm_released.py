"""CMI-RM as its authors publish it: config.yaml and model.safetensors, whose names are those of their code.

How many layers there are and how wide they are is counted from the weights: the paper and the code's defaults have the
depths of the two transformers the other way round. What weights cannot tell (the encoder, how tokens are reduced) is
read from the configuration, and what is not known here is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from torch import Tensor

from scoring.metrics.cmi_rm_checkpoint import WEIGHTS, Checkpoint, Recipe, filled, read_weights
from scoring.metrics.cmi_rm_inputs import Absent, Feeding, Reduction
from scoring.metrics.cmi_rm_model import Shape
from scoring.metrics.contract import SetupError

CONFIG = "config.yaml"

# The encoders' own weights, which are those of the published encoder; heads of other trainings; what stood in training
# for modalities left out. Inference needs none of them here.
_UNUSED = (
    "audio_module.", "text_module.", "single_score_projector.", "alignment_head.", "quality_head.",
    "null_text_embedding", "null_lyrics_embedding", "null_audio_embedding",
)  # fmt: skip
_DOWNSAMPLER = re.compile(r"(text|lyrics|eval|ref)_downsampler\.")

# Parts of a layer: our beginning of a name, and theirs in a layer that attends to itself and in one that also attends
# to the prompt.
_PARTS = {
    "self": {"attention.": "0.", "feed_forward.": "1."},
    "cross": {"attention.": "self_attn.", "cross_attention.": "cross_attn.", "feed_forward.": "ffn."},
}
_ENDINGS = {
    "feed_forward.norm.gain": "0.learned_gamma",
    "feed_forward.widen.weight": "1.weight",
    "feed_forward.narrow.weight": "4.weight",
}


def load(folder: Path) -> Checkpoint:
    """Raises SetupError."""
    config = _config(folder / CONFIG)
    feeding = Feeding(Absent.ENCODED, _reduction(config, folder / CONFIG))
    encoder = _encoder(config, folder / CONFIG)
    source = folder / WEIGHTS
    weights, sha256 = read_weights(source)
    if learned := sorted({found[0] for name in weights if (found := _DOWNSAMPLER.match(name))}):
        raise SetupError(f"{source} reduces tokens by learned maps ({learned[0]}*), which are not read here.")
    shape = shape_of(weights, source=source)
    used = {name: tensor for name, tensor in weights.items() if not name.startswith(_UNUSED)}
    model = filled(shape, used, source=source, called=published_name)
    return Checkpoint(model, Recipe(shape, encoder, None, feeding), sha256)


def shape_of(weights: Mapping[str, Tensor], *, source: Path) -> Shape:
    """Counted from weights under their published names. Raises SetupError where those to count by are not there."""
    first = "prompt_transformer.layers.0."
    to_q, q_scale, narrow = f"{first}0.to_q.weight", f"{first}0.q_scale", f"{first}1.4.weight"
    for name in (to_q, q_scale, narrow, "score_projector.1.weight"):
        if name not in weights or weights[name].dim() != (1 if name == q_scale else 2):
            raise SetupError(
                f"{source} is no CMI-RM: it has no {name} of its shape among its {len(weights)} weights. Give "
                "the folder of HaiwenXia/CMI-RM, or one that a training left."
            )
    inner, width = weights[to_q].shape
    joint: Literal["self", "cross"] = "cross" if any(".cross_attn." in name for name in weights) else "self"
    return Shape(
        encoder_width=width,
        width=width,
        heads=inner // weights[q_scale].shape[0],
        head_width=weights[q_scale].shape[0],
        feed_forward=weights[narrow].shape[1],
        prompt_depth=_depth(weights, "prompt_transformer.layers."),
        joint_depth=_depth(weights, f"joint_transformer.{'' if joint == 'cross' else 'layers.'}"),
        joint=joint,
        score_width=weights["score_projector.1.weight"].shape[0],
    )


def published_name(ours: str, shape: Shape) -> str:
    """What their code calls a weight of ours."""
    if ours.startswith("score."):
        return ours.replace("score.", "score_projector.", 1)
    stack, number, rest = ours.split(".", 2)
    kind = "self" if stack == "prompt_layers" else shape.joint
    layers = "" if kind == "cross" else "layers."
    tower = "prompt_transformer" if stack == "prompt_layers" else "joint_transformer"
    begin, theirs = next((begin, theirs) for begin, theirs in _PARTS[kind].items() if rest.startswith(begin))
    ending = _ENDINGS.get(rest) or rest.removeprefix(begin).replace(".gain", ".learned_gamma").replace(
        "to_out.", "to_out.0."
    )
    return f"{tower}.{layers}{number}.{theirs}{ending}"


def _depth(weights: Mapping[str, Tensor], beginning: str) -> int:
    numbers = (name.removeprefix(beginning).split(".")[0] for name in weights if name.startswith(beginning))
    return max((int(number) for number in numbers if number.isdigit()), default=-1) + 1


def _config(file: Path) -> dict[str, Any]:
    try:
        config = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SetupError(f"{file} cannot be read ({error}). Download the model again.") from error
    if not isinstance(config, dict):
        raise SetupError(f"{file} is not what it should be: names and values. Download the model again.")
    # The code reads the model's own settings from below this name, its exports have them at the top.
    return config["model"] if isinstance(config.get("model"), dict) else config


# Settings that change what the model is fed, and the one value of each that is known here.
_KNOWN = {
    "mode": "concat_text_late",
    "text_encoder": "muqmulan",
    "output_dim": 2,
    "sr": 24_000,
    "freeze_audio": True,
    "freeze_text": True,
    "train_muq_depth": 0,
    "text_lora_config": None,
}


def _encoder(config: Mapping[str, Any], file: Path) -> str:
    for name, known in _KNOWN.items():
        if (given := config.get(name, known)) != known:
            raise SetupError(
                f"{file} has {name}: {given!r}, and only {known!r} is read here. Scores of such a model would be of "
                "features it was not trained on."
            )
    return f"muq-mulan:{config.get('model_name', 'OpenMuQ/MuQ-MuLan-large')}"


def _reduction(config: Mapping[str, Any], file: Path) -> Reduction:
    """By text, lyrics (which are text), reference and evaluated sound."""
    given = config.get("downsample") or {}
    kinds = given.get("configs") or {}
    text = _factor(given.get("text"), kinds, file)
    return Reduction(
        text=text,
        lyrics=_factor(given["lyrics"], kinds, file) if "lyrics" in given else text,
        reference=_factor(given.get("ref"), kinds, file),
        sound=_factor(given.get("eval"), kinds, file),
    )


def _factor(name: str | None, kinds: Mapping[str, Any], file: Path) -> int:
    if name in (None, "none"):
        return 1
    kind = kinds.get(name)
    if isinstance(kind, dict) and kind.get("kind") == "none":
        return 1
    factor = kind.get("factor") if isinstance(kind, dict) else None
    if not isinstance(kind, dict) or kind.get("kind") != "mean" or type(factor) is not int or factor < 1:
        raise SetupError(
            f"{file} reduces tokens by {name!r}, which is {kind!r}; none and mean with a whole factor are read here."
        )
    return factor
