"""The truth behind the demo study: what an analysis of its votes should find."""

from __future__ import annotations

from dataclasses import dataclass

from annotation.demo.catalogue import SYSTEMS
from annotation.demo.clips import Clip, Comparison
from annotation.demo.raters import RATERS, Rater, probability_of_first
from annotation.demo.scenes import ANSWER_SYSTEMS


@dataclass(frozen=True)
class SystemTruth:
    """Log-odds of being preferred, 0 for a system that never errs."""

    quality: float
    adherence: float


@dataclass(frozen=True)
class ClipTruth:
    """`flaws` maps a kind to its strength; both latent values are sums of costs, 0 at best."""

    musicality: float
    alignment: float
    flaws: dict[str, float]
    failures: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonTruth:
    """Chance that `a`, the clip in `audio-path`, is preferred by an unbiased rater of sensitivity 1."""

    prompt: str
    a: str
    b: str
    alignment: float
    musicality: float


@dataclass(frozen=True, kw_only=True)
class DemoTruth:
    """Systems by name, clips by file name, comparisons by "prompt/system a/system b", answers by item key.

    `answers` holds each answer's correctness and `answer_systems` each system's expected one, from 1 to 5.
    """

    seed: int
    systems: dict[str, SystemTruth]
    clips: dict[str, ClipTruth]
    comparisons: dict[str, ComparisonTruth]
    answers: dict[str, int]
    answer_systems: dict[str, float]
    raters: tuple[Rater, ...]


def reveal(comparisons: list[Comparison], *, answers: dict[str, int], seed: int) -> DemoTruth:
    clips = {clip.file_name: clip for c in comparisons for clip in (c.a, c.b)}
    return DemoTruth(
        seed=seed,
        systems={system.name: SystemTruth(system.quality, system.adherence) for system in SYSTEMS},
        clips={name: _clip_truth(clips[name]) for name in sorted(clips)},
        comparisons={c.id: _comparison_truth(c) for c in comparisons},
        answers=answers,
        answer_systems={system.name: system.accuracy for system in ANSWER_SYSTEMS},
        raters=RATERS,
    )


def _clip_truth(clip: Clip) -> ClipTruth:
    strengths = {flaw.kind: flaw.strength for flaw in clip.flaws}
    return ClipTruth(clip.musicality, clip.alignment, strengths, clip.failures)


def _comparison_truth(comparison: Comparison) -> ComparisonTruth:
    return ComparisonTruth(
        comparison.prompt.id,
        comparison.a.system.name,
        comparison.b.system.name,
        probability_of_first(comparison.alignment_difference),
        probability_of_first(comparison.musicality_difference),
    )
