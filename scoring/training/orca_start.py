"""What an ORCA training begins with: an untrained encoder and head, or a trained judge's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from scoring.backbones import answer_encoders, checkpoints
from scoring.backbones.answer_encoders import AnswerEncoder, TextFields
from scoring.metrics.contract import SetupError
from scoring.metrics.orca_checkpoint import About, Judge, folder_of, open_judge
from scoring.metrics.orca_heads import RatingHead
from scoring.metrics.registry import Workplace
from scoring.training.contract import TrainingError


@dataclass(frozen=True)
class Start:
    """`fitted` says that the encoder has counted already what it counts before it learns."""

    encoder: AnswerEncoder
    head: RatingHead
    about: About
    fitted: bool


def begun(options: Mapping[str, Any], workplace: Workplace, *, device: torch.device) -> Start:
    """Weights that are not there yet are drawn from torch's own generator. Raises SetupError, TrainingError."""
    if options["start_from"]:
        return _continued(options, workplace, device)
    fields = TextFields(options["question"], options["rationale"], options["transcript"])
    if options["encoder"] in answer_encoders.BUILT_IN:
        encoder = answer_encoders.new_built_in(options["encoder"], fields)
    else:
        checkpoint = checkpoints.find(options["encoder"])
        if checkpoint.adapter is not None:
            raise SetupError(
                f"{options['encoder']} is an adapter. Name its base, or start_from a trained judge."
            )
        base = checkpoint.name if checkpoint.is_published else str(checkpoint.folder)
        encoder = _language_model(checkpoint, checkpoint.folder, options, fields, base=base, device=device)
    about = _about(options, fields, encoder)
    head = RatingHead(encoder.width, kind=options["head"], edges=options["edges"])
    return Start(encoder.to(device), head.to(device), about, fitted=False)


def _continued(options: Mapping[str, Any], workplace: Workplace, device: torch.device) -> Start:
    try:
        folder = folder_of(options["start_from"], below=workplace.checkpoints)
        judge = open_judge(
            folder, dtype=_held(options, device), device=device, merge=options["tuning"] == "full"
        )
    except SetupError as error:
        raise TrainingError("bad_checkpoint", f"start_from: {error}") from error
    _check_alike(judge, options)
    fields = TextFields(options["question"], options["rationale"], options["transcript"])
    own = judge.about.is_built_in
    encoder = judge.encoder if own else _language_model_of(judge, folder, options, fields)
    about = _about(options, fields, encoder)
    head = RatingHead(encoder.width, kind=options["head"], edges=options["edges"]).to(device)
    head.load_state_dict(judge.head.state_dict())
    return Start(encoder, head, about, fitted=True)


def _about(options: Mapping[str, Any], fields: TextFields, encoder: AnswerEncoder) -> About:
    settings = encoder.settings if options["encoder"] in answer_encoders.BUILT_IN else {}
    return About(options["encoder"], fields, settings, options["input"], options["edges"])


def _check_alike(judge: Judge, options: Mapping[str, Any]) -> None:
    """The released judges do not name the model they began with beyond what their adapter says."""
    found: dict[str, Any] = {"encoder": judge.about.encoder, "head": judge.head.kind}
    if judge.about.is_built_in:
        found |= {name: judge.encoder.settings.get(name) for name in ("question", "rationale", "transcript")}
    if not judge.about.encoder and options["encoder"] in answer_encoders.BUILT_IN:
        found["encoder"] = "a language model"
    for name, value in found.items():
        if value not in ("", None, options[name]):
            raise TrainingError(
                "bad_checkpoint",
                f"start_from: that judge was trained with {name}={value}, and this training has "
                f"{name}={options[name]}. Give it the same.",
            )


def _language_model(
    checkpoint: checkpoints.Checkpoint,
    tokenizer: Path,
    options: Mapping[str, Any],
    fields: TextFields,
    *,
    base: str,
    device: torch.device,
) -> AnswerEncoder:
    # With its libraries, a moment to load: not for the built-in one.
    from scoring.backbones.causal_text import CausalText, open_model, open_tokenizer

    model = open_model(checkpoint, dtype=_held(options, device), device=device)
    read_by = open_tokenizer(tokenizer, model)
    return CausalText(_tuned(model, options, base=base), read_by, wording=options["input"], fields=fields)


def _language_model_of(
    judge: Judge, folder: Path, options: Mapping[str, Any], fields: TextFields
) -> AnswerEncoder:
    """The judge's own, its adapter trained further where it has one and an adapter is wanted; a whole model, or one
    that an adapter was merged into, is begun with as any other."""
    from peft import PeftModel

    from scoring.backbones.causal_text import CausalText

    found: Any = judge.encoder
    model = found.model
    if not isinstance(model, PeftModel):
        model = _tuned(model, options, base=str(folder / "model" / "lm"))
    return CausalText(model, found.tokenizer, wording=options["input"], fields=fields)


def _tuned(model: Any, options: Mapping[str, Any], *, base: str) -> Any:
    from scoring.backbones.causal_text import train_whole, with_new_adapter

    if options["tuning"] == "lora":
        return with_new_adapter(model, rank=options["rank"], base=base)
    train_whole(model)
    return model


def _held(options: Mapping[str, Any], device: torch.device) -> torch.dtype:
    """What an adapter is trained beside only has to be read; what is trained takes steps too small for bfloat16."""
    return torch.bfloat16 if device.type == "cuda" and options["tuning"] == "lora" else torch.float32
