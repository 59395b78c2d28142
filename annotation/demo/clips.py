"""Each system's answer to each prompt: draw what will go wrong in it, then compose and play it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from annotation.demo import failures, flaws
from annotation.demo.catalogue import SYSTEMS, MusicSystem, Prompt, contests
from annotation.demo.composer import compose
from annotation.demo.flaws import Flaw
from annotation.demo.melody import Motif, draw_motif
from annotation.demo.performance import Performance, Sound, perform

_REFERENCE_SOUND = Sound(32000, 1, -20)
_SPREAD = 0.3  # of a clip around its system, in log-odds


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What went wrong in one answer decides its true musicality and alignment, in log-odds, 0 at best."""

    prompt: Prompt
    system: MusicSystem
    flaws: tuple[Flaw, ...]
    failures: tuple[str, ...]

    @property
    def musicality(self) -> float:
        return -sum(flaw.cost for flaw in self.flaws)

    @property
    def alignment(self) -> float:
        return -sum(failures.COSTS[kind] for kind in self.failures)


@dataclass(frozen=True, kw_only=True)
class Clip(Outcome):
    """An answer that was played."""

    performance: Performance = field(repr=False, compare=False)

    @property
    def file_name(self) -> str:
        return f"{self.prompt.id}-{self.system.name.lower()}.wav"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two clips of one prompt; `a` is heard first."""

    a: Clip
    b: Clip

    @property
    def prompt(self) -> Prompt:
        return self.a.prompt

    @property
    def id(self) -> str:
        return f"{self.prompt.id}/{self.a.system.name}/{self.b.system.name}"

    @property
    def alignment_difference(self) -> float:
        return self.a.alignment - self.b.alignment

    @property
    def musicality_difference(self) -> float:
        return self.a.musicality - self.b.musicality


def make_comparisons(prompts: tuple[Prompt, ...], *, seed: int) -> list[Comparison]:
    systems = {system.name: system for system in SYSTEMS}
    out = []
    for prompt, names in contests(prompts):
        clips = [make_clip(prompt, systems[name], seed=seed) for name in names]
        for pair in combinations(clips, 2):
            order = _rng(seed, prompt, *(clip.system.name for clip in pair)).permutation(2)
            out.append(Comparison(a=pair[int(order[0])], b=pair[int(order[1])]))
    return out


def make_clip(prompt: Prompt, system: MusicSystem, *, seed: int) -> Clip:
    rng = _rng(seed, prompt, system.name)
    drawn = _draw_outcome(prompt, system, rng=rng)
    brief = prompt.brief
    for kind in drawn.failures:
        brief = failures.failed(brief, kind)
    heeded = prompt.reference and "ignored_reference" not in drawn.failures
    motif = _motif(prompt, seed=seed) if heeded else None
    score = compose(brief, rng=rng, motif=motif)
    performance = perform(score, flaws=drawn.flaws, sound=system.sound, rng=rng)
    return Clip(
        prompt=prompt, system=system, flaws=drawn.flaws, failures=drawn.failures, performance=performance
    )


def draw_outcome(prompt: Prompt, system: MusicSystem, *, seed: int) -> Outcome:
    """What is wrong with the clip that `make_clip` makes, without making it."""
    return _draw_outcome(prompt, system, rng=_rng(seed, prompt, system.name))


def _draw_outcome(prompt: Prompt, system: MusicSystem, *, rng: np.random.Generator) -> Outcome:
    flawed = draw_flaws(system, rng=rng)
    failed = draw_failures(system, prompt, rng=rng)
    return Outcome(prompt=prompt, system=system, flaws=flawed, failures=failed)


def make_reference(prompt: Prompt, *, seed: int) -> Performance | None:
    if prompt.reference is None:
        return None
    rng = _rng(seed, prompt, "reference")
    score = compose(prompt.reference, rng=rng, motif=_motif(prompt, seed=seed))
    return perform(score, flaws=(), sound=_REFERENCE_SOUND, rng=rng)


def draw_flaws(system: MusicSystem, *, rng: np.random.Generator) -> tuple[Flaw, ...]:
    """Flaws whose costs sum, on average, to what the system falls short of perfect."""
    left = max(0.0, -system.quality + float(rng.normal(0, _SPREAD)))
    drawn: list[Flaw] = []
    for kind in (system.weaknesses[int(i)] for i in rng.permutation(len(system.weaknesses))):
        cost = flaws.COSTS[kind]
        if left < cost:
            return (*drawn, *_last_flaw(kind, share=left / cost, rng=rng))
        drawn.append(Flaw(kind, 1.0))
        left -= cost
    return tuple(drawn)


def _last_flaw(kind: str, *, share: float, rng: np.random.Generator) -> Iterable[Flaw]:
    """None, mild or full, so that the expected strength is `share`."""
    steps = int(share >= 0.5) + int(rng.random() < share * 2 % 1)
    return [Flaw(kind, steps / 2)] if steps else []


def draw_failures(system: MusicSystem, prompt: Prompt, *, rng: np.random.Generator) -> tuple[str, ...]:
    """As for flaws, among the failures that the prompt leaves room for; a failure is never mild."""
    possible = failures.failures_open_to(prompt.brief, with_reference=prompt.reference is not None)
    kinds = [kind for kind in system.misunderstandings if kind in possible]
    left = max(0.0, -system.adherence + float(rng.normal(0, _SPREAD)))
    drawn: list[str] = []
    for kind in (kinds[int(i)] for i in rng.permutation(len(kinds))):
        cost = failures.COSTS[kind]
        if rng.random() >= left / cost:
            break
        drawn.append(kind)
        left -= cost
    return tuple(kind for kind in failures.COSTS if kind in drawn)


def _motif(prompt: Prompt, *, seed: int) -> Motif:
    return draw_motif(prompt.brief, rng=_rng(seed, prompt, "motif"))


def _rng(seed: int, prompt: Prompt, *names: str) -> np.random.Generator:
    """A stream of its own for each thing made, so that adding one changes no other."""
    return np.random.default_rng([seed, *"/".join((prompt.id, *names)).encode()])
