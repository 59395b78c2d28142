"""The demo's pairs with what is true of them and what simulated raters say of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from annotation.demo.catalogue import load_prompts
from annotation.demo.clips import Clip, Comparison, make_comparisons, make_reference
from annotation.demo.raters import Rater, choose, draw_rater
from annotation.demo.write import write_wav
from scoring.metrics.contract import Sound
from scoring.training.contract import HEADS, ComparedPair, PairVote, Prompt

# Of each pair, by whom no training has heard.
OTHER_RATERS = 20


@dataclass(frozen=True)
class Case:
    """A pair of the demo. `better` and `votes` by head: how much better the first clip is, in log-odds, and what the
    raters say of it, in an order of their own."""

    pair: ComparedPair
    better: Mapping[str, float]
    votes: Mapping[str, Sequence[PairVote]]
    others: Mapping[str, Sequence[PairVote]]

    def with_votes(self, overlap: int) -> ComparedPair:
        said = {head: list(self.votes[head][:overlap]) for head in HEADS}
        return replace(self.pair, votes=said)


def rendered(folder: Path, seed: int) -> list[tuple[Comparison, ComparedPair]]:
    """Play the demo of this seed. Rendering 1 is the demo study that every installation has."""
    place = folder / str(seed)
    prompts = {
        prompt.id: Prompt(
            prompt.text,
            prompt.lyrics,
            None if (clip := make_reference(prompt, seed=seed)) is None
            else _stored(place / f"{prompt.id}-reference.wav", clip.pcm, rate=clip.sound.rate),
        )
        for prompt in load_prompts()
    }  # fmt: skip
    found = make_comparisons(load_prompts(), seed=seed)
    sounds = {clip.file_name: _sound(place, clip) for one in found for clip in (one.a, one.b)}
    return [
        (
            one,
            ComparedPair(
                f"{seed}/{one.id}", one.prompt.id, prompts[one.prompt.id], sounds[one.a.file_name],
                sounds[one.b.file_name], {}, (one.a.system.name, one.b.system.name),
            ),
        )
        for one in found
    ]  # fmt: skip


def _sound(place: Path, clip: Clip) -> Sound:
    return _stored(place / clip.file_name, clip.performance.pcm, rate=clip.system.sound.rate)


def _stored(path: Path, pcm: Any, *, rate: int) -> Sound:
    write_wav(path, pcm, rate=rate)
    return Sound(hashlib.sha256(path.read_bytes()).hexdigest(), path, len(pcm) / rate)


def judged(render: Sequence[tuple[Comparison, ComparedPair]], raters: int, *, seed: int) -> list[Case]:
    known = [draw_rater(number, seed=seed) for number in range(raters)]
    others = [draw_rater(raters + number, seed=seed) for number in range(OTHER_RATERS)]
    cases = []
    for one, pair in render:
        rng = np.random.default_rng([seed, *pair.key.encode()])
        better = {"alignment": one.alignment_difference, "musicality": one.musicality_difference}
        order = [known[int(place)] for place in rng.permutation(raters)]
        cases.append(Case(pair, better, _votes(order, better, rng), _votes(others, better, rng)))
    return cases


def _votes(
    raters: Sequence[Rater], better: Mapping[str, float], rng: np.random.Generator
) -> dict[str, list[PairVote]]:
    chosen = {head: [choose(rater, difference=better[head], rng=rng) for rater in raters] for head in HEADS}
    return {
        head: [PairVote(float(one.first), one.confidence) for one in found] for head, found in chosen.items()
    }
