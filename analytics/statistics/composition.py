"""Text, audio and group score of compositional benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.statistics.bootstrap import (
    Estimate,
    Resampling,
    estimate,
    undefined,
    weighted_mean,
)
from analytics.statistics.distinct_rows import FloatArray


@dataclass(frozen=True)
class CompositionScores:
    text: Estimate
    audio: Estimate
    group: Estimate


def composition_scores(scores: FloatArray, *, resampling: Resampling | None = None) -> CompositionScores:
    """scores: (n, k, k), item by sound by text, where text i describes sound i; items with a NaN are left out.

    Winoground's rule (Thrush et al., CVPR 2022, equations 1 to 3), taken over by CompA (Ghosh et al., ICLR 2024) for
    sounds: the text score counts the items in which every sound scores highest with its own text, the audio score those
    in which every text scores highest with its own sound, the group score those with both. Strictly: who cannot tell
    two apart has not passed. By chance 1/4, 1/4 and 1/6 for two and two.
    """
    resampling = resampling or Resampling()
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2]:
        raise ValueError("Needs scores of shape (items, sounds, texts), as many texts as sounds.")
    whole = scores[np.isfinite(scores).all(axis=(1, 2))]
    if not len(whole):
        missing = undefined("no_items", n=0, resampling=resampling)
        return CompositionScores(missing, missing, missing)
    own = np.diagonal(whole, axis1=1, axis2=2)
    others = np.where(np.eye(whole.shape[1], dtype=bool), -np.inf, whole)
    text = (own > others.max(axis=2)).all(axis=1)
    audio = (own > others.max(axis=1)).all(axis=1)
    passed = [
        estimate(weighted_mean(right.astype(np.float64)), np.arange(len(whole)), resampling=resampling)
        for right in (text, audio, text & audio)
    ]
    return CompositionScores(*passed)
