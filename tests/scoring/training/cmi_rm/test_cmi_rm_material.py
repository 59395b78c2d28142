"""What CMI-RM is fed in training: each sound and prompt is held once."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch

from scoring.backbones.encoders.contract import Span
from scoring.metrics.cmi_rm.inputs import InputSettings
from scoring.metrics.contract import ExampleError, Sound
from scoring.training.cmi_rm.examples import VotedExample, encode_examples
from scoring.training.contract import Prompt


class Counting:
    """Gives tensors of its own at each call, as an encoder does that reads them from its cache."""

    width = 2
    identity: dict[str, str] = {}

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.texts: list[str] = []

    def prepare(self, spans: list[Span]) -> None:
        pass

    def of_spans(self, spans: list[Span]) -> list[torch.Tensor | ExampleError]:
        self.spans += spans
        gone = ExampleError("missing", "It is gone.")
        return [torch.full((3, 2), one.sound.seconds) if one.sound.seconds else gone for one in spans]

    def of_texts(self, texts: list[str]) -> list[torch.Tensor]:
        self.texts += texts
        return [torch.full((1, 2), float(len(text))) for text in texts]


def test_a_sound_in_many_pairs_is_encoded_and_held_once() -> None:
    clips = [Sound(f"{number:064x}", Path("none"), float(number)) for number in range(13)]
    asked = (Prompt("a bell"), Prompt("rain", "la la", clips[1]))
    said = [
        VotedExample(f"{a.sha256} {b.sha256}", asked[place % 2], (a, b), (1.0, 0.0), (1.0, 0.0))
        for place, (a, b) in enumerate(combinations(clips, 2))
    ]
    encoder, told = Counting(), []
    units, left_out = encode_examples(said, encoder, InputSettings(), heard=told.append)
    assert (len(units), len(left_out), told) == (66, 12, [64, 78])  # the first clip of all cannot be heard
    assert set(left_out.values()) == {"It is gone."}
    assert len({id(sound) for unit in units for sound in unit.sounds}) == 12
    assert len({id(unit.prompt) for unit in units}) == 2
    assert len(encoder.spans) == 13 + 1  # and a reference
    assert sorted(encoder.texts) == ["a bell", "la la", "rain"]
    heard = [one for one in said if one.key not in left_out]
    for one, unit in zip(heard, units, strict=True):
        assert [sound[0, 0].item() for sound in unit.sounds] == [sound.seconds for sound in one.sounds]
        assert unit.prompt[:, 0].tolist() == pytest.approx(
            [6.0] if one.prompt is asked[0] else [4.0, 5.0, 1.0, 1.0, 1.0]
        )
