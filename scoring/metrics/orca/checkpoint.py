"""A judge's folder: the released layout, and ours, which adds to it what the released one leaves to be known.

model/config.yaml         score_type: beta or multinomial
model/model_minus_lm.pt   linear.weight and linear.bias of the head
model/lm/                 an adapter or a whole language model, as peft and transformers write them
tokenizer/                of that language model
judge.json                ours: encoder, what it reads, treatment of the ends, threshold of clamping
model/encoder.pt          ours: the weights of a built-in encoder, in place of model/lm/ and tokenizer/
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import yaml

from scoring.backbones.encoders import encoder_registry
from scoring.backbones.encoders.contract import AnswerEncoder, TextFields
from scoring.backbones.loading import checkpoints
from scoring.backbones.loading.pretrained import first_line
from scoring.metrics.contract import SetupError
from scoring.metrics.orca.heads import HEADS, LEVELS, RatingHead

_HUB_PATTERNS = ("*.json", "*.yaml", "*.pt", "*.safetensors", "*.model", "*.txt", "*.jinja")
_HEAD_WEIGHTS = {"linear.weight", "linear.bias"}
# The variance at which each released judge clamps, which is in its authors' code (clamp.py) and in no file of its own.
RELEASED_CLAMPS = {
    "orca-gemma-3-4b-it-multinomial": 0.05,
    "orca-llama-3.2-3b-it-multinomial": 0.05,
    "orca-olmo-2-1b-multinomial": 0.005,
}


@dataclass(frozen=True)
class JudgeConfig:
    """The settings in judge.json. `encoder` is a built-in's name, or the language model that the training began with;
    `settings` are a built-in's; `clamp_below` is the variance at which clamping begins, None where it was not sought.
    """

    encoder: str
    fields: TextFields
    settings: Mapping[str, Any]
    wording: str = "paper"
    edges: str = "clamp"
    clamp_below: float | None = None

    @property
    def is_built_in(self) -> bool:
        return self.encoder in encoder_registry.BUILT_IN_ANSWER_ENCODERS


@dataclass(frozen=True)
class Judge:
    """An opened one. `weights` is a digest of all its files that hold or interpret them."""

    encoder: AnswerEncoder
    head: RatingHead
    about: JudgeConfig
    weights: str


def judge_folder(name: str, *, below: Path | None) -> Path:
    """The folder of a judge named by its folder, by a folder's name below `below`, or as on the hub, whence it is
    fetched. Raises SetupError."""
    for folder in (Path(name).expanduser(), *([below / name] if below else [])):
        if folder.is_dir():
            # The published programs are given the folder within.
            inner = folder.name == "model" and (folder / "config.yaml").is_file()
            return (folder.parent if inner else folder).resolve()
    if not checkpoints.is_hub_name(name):
        raise SetupError(
            f"There is no folder {name}. Give the folder of a trained ORCA judge, or a hub name such as "
            "BUT-FIT/orca-olmo-2-1b-multinomial."
        )
    return checkpoints.download_from_hub(name, patterns=_HUB_PATTERNS)


def open_judge(folder: Path, *, dtype: torch.dtype, device: torch.device, merge: bool = True) -> Judge:
    """`merge` puts an adapter into its model's weights; else it stays beside them, to be trained on. Raises SetupError,
    with what was found and what was expected, where the folder holds anything else."""
    config = _read_model_config(folder)
    about = _read_judge_config(folder)
    if about.is_built_in:
        encoder, base = _open_built_in(folder, about), ""
    else:
        encoder, base = _open_language_model(folder, about, dtype=dtype, device=device, merge=merge)
    head = _open_head(folder, config, about, width=encoder.width)
    return Judge(encoder.to(device), head.to(device), about, _digest(folder, base))


def save_judge(folder: Path, encoder: AnswerEncoder, head: RatingHead, about: JudgeConfig) -> None:
    """Into a folder that is not there yet."""
    model = folder / "model"
    model.mkdir(parents=True)
    (model / "config.yaml").write_text(
        yaml.safe_dump({"score_type": head.kind, "use_cls_token": False}), encoding="utf-8"
    )
    _save_tensors(
        {name: head.state_dict()[name] for name in sorted(_HEAD_WEIGHTS)}, model / "model_minus_lm.pt"
    )
    if about.is_built_in:
        _save_tensors(encoder.state_dict(), model / "encoder.pt")
    else:
        encoder.save(model / "lm", folder / "tokenizer")  # type: ignore[operator]
    (folder / "judge.json").write_text(json.dumps({"format": 1, **asdict(about)}, indent=1), encoding="utf-8")


def _save_tensors(tensors: Mapping[str, torch.Tensor], file: Path) -> None:
    torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, file)


def _read_model_config(folder: Path) -> dict[str, Any]:
    config = _read_yaml(folder / "model" / "config.yaml")
    kind = config.get("score_type")
    if kind not in HEADS:
        raise SetupError(
            f"{folder} holds a judge whose score_type is {kind!r}; what can be opened are {' and '.join(HEADS)}."
        )
    if config.get("use_cls_token") or config.get("layers_to_use", [-1]) not in ([-1], -1):
        raise SetupError(
            f"{folder} holds a judge with a token of its own or with several layers' states; what can be opened reads "
            "the last layer's state at the last token. Train it again without these options."
        )
    return config


def _read_judge_config(folder: Path) -> JudgeConfig:
    file = folder / "judge.json"
    if not file.is_file():
        return _released_judge_config(folder)
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        if config.pop("format") != 1:
            raise ValueError("another version of this program wrote it")
        return JudgeConfig(**config | {"fields": TextFields(**config["fields"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SetupError(
            f"{file} cannot be read: {error}. Copy the folder again, or train the judge again."
        ) from error


def _released_judge_config(folder: Path) -> JudgeConfig:
    """The released code's wording, with the fields that its arguments name, and the threshold of a released judge, told
    by its folder's name: the hub's own, or that of a copy."""
    arguments = _read_yaml(folder / "args.yaml") if (folder / "args.yaml").is_file() else {}
    fields = TextFields(
        question=not arguments.get("skip_question"),
        rationale=not arguments.get("skip_rationale"),
        transcript=bool(arguments.get("add_transcript")),
    )
    return JudgeConfig(
        encoder="", fields=fields, settings={}, wording="code", clamp_below=_released_clamp(folder)
    )


def _released_clamp(folder: Path) -> float | None:
    """The hub's cache has models--BUT-FIT--NAME/snapshots/REVISION; a copy is called NAME."""
    cached = folder.parent.name == "snapshots"
    name = folder.parents[1].name.rpartition("--")[2] if cached else folder.name
    return RELEASED_CLAMPS.get(name)


def _open_built_in(folder: Path, about: JudgeConfig) -> AnswerEncoder:
    state = _read_tensors(folder / "model" / "encoder.pt")
    try:
        encoder = encoder_registry.make_answer_encoder(about.encoder, about.settings)
        encoder.load_state_dict(state)
    except (TypeError, RuntimeError, ValueError) as error:
        raise SetupError(
            f"{folder} was trained with another version of the built-in encoder ({str(error)[:300]}). Train it again."
        ) from error
    return encoder


def _open_language_model(
    folder: Path, about: JudgeConfig, *, dtype: torch.dtype, device: torch.device, merge: bool
) -> tuple[AnswerEncoder, str]:
    """And which files its base is, where the folder holds an adapter only."""
    # With its libraries, a moment to load: not for the built-in one.
    from scoring.backbones.encoders.causal_text import CausalText, open_model, open_tokenizer

    lm = folder / "model" / "lm"
    if not lm.is_dir():
        raise SetupError(
            f"{folder} is no judge: it has neither model/lm nor a judge.json with a built-in encoder."
        )
    checkpoint = checkpoints.find_checkpoint(str(lm))
    model = open_model(checkpoint, dtype=dtype, device=device, merge=merge)
    tokenizer = open_tokenizer(folder / "tokenizer", model)
    encoder = CausalText(model, tokenizer, wording=about.wording, fields=about.fields)
    return encoder, checkpoint.revision.partition("+")[0] if checkpoint.adapter else ""


def _open_head(folder: Path, config: Mapping[str, Any], about: JudgeConfig, *, width: int) -> RatingHead:
    file = folder / "model" / "model_minus_lm.pt"
    tensors = _read_tensors(file)
    head = RatingHead(width, kind=config["score_type"], edges=about.edges)
    if set(tensors) != _HEAD_WEIGHTS:
        raise SetupError(
            f"{file} holds {', '.join(sorted(tensors)) or 'nothing'}; a head is {', '.join(sorted(_HEAD_WEIGHTS))}."
        )
    rows = 2 if head.kind == "beta" else LEVELS
    shapes = {"linear.weight": (rows, width), "linear.bias": (rows,)}
    for name, shape in shapes.items():
        if tuple(tensors[name].shape) != shape:
            raise SetupError(
                f"{file} has a {name} of shape {tuple(tensors[name].shape)}; a {head.kind} head on this encoder has "
                f"{shape}. Put the head back with the model that it was trained with, or correct score_type."
            )
    head.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return head


def _read_tensors(file: Path) -> dict[str, torch.Tensor]:
    try:
        tensors = torch.load(file, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError) as error:
        raise SetupError(f"{file} cannot be read: {first_line(error)} Copy or download it again.") from error
    if not isinstance(tensors, dict) or not all(isinstance(part, torch.Tensor) for part in tensors.values()):
        raise SetupError(f"{file} is not what it should be: tensors by name. Copy or download it again.")
    return tensors


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SetupError(
            f"{file.parents[1]} is no ORCA judge, or not a whole one: {file.name} cannot be read. Give the folder that "
            "has model/config.yaml in it."
        ) from error
    return content if isinstance(content, dict) else {}


def _digest(folder: Path, base: str) -> str:
    """Over names and contents of all that holds or interprets weights."""
    sums = hashlib.sha256(base.encode())
    for part in ("model", "tokenizer"):
        for file in sorted(path for path in (folder / part).rglob("*") if path.is_file()):
            sums.update(f"{file.relative_to(folder).as_posix()} {checkpoints.file_digest(file)}\n".encode())
    return sums.hexdigest()
