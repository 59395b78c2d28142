"""AURA's score of its two parts (Dixit et al. 2025, §3, equations 1 and 2): pure functions, so that another weight or
another threshold is computed from stored parts without asking a model again.

The paper names neither thresholds nor weight and calls the normalisation a min-max scaling. The values are those of the
released code, which scales by the ends that the sum can reach, -w and 1 + w: the one reading of the paper under which a
score depends on nothing but its own answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Normalisation = Literal["range", "none"]
NORMALISATIONS: tuple[Normalisation, ...] = ("range", "none")

# Of the released code (`aura_score.py`); the thresholds are made for the cosines of one CLAP.
RELEASED_WEIGHT = 0.1
RELEASED_THRESHOLDS = (0.25, 0.55)
RELEASED_CLAP = "MS-CLAP 2023"


@dataclass(frozen=True)
class Combination:
    """How a rating from 0 to 1 and a cosine become one score.

    A cosine below `contradicts_below` is a contradiction (-1), above `entails_above` an entailment (1), and neutral (0)
    from the one to the other, both included, as in the released code.
    """

    weight: float = RELEASED_WEIGHT
    contradicts_below: float = RELEASED_THRESHOLDS[0]
    entails_above: float = RELEASED_THRESHOLDS[1]
    normalisation: Normalisation = "range"

    def entailment(self, cosine: float) -> int:
        """S_AE: the class of a cosine, -1, 0 or 1."""
        return int(cosine > self.entails_above) - int(cosine < self.contradicts_below)

    def score(self, judge: float, entailment: float) -> float:
        """Equation 2. `judge`: S_LLM, from 0 to 1. From 0 to 1, or from -w to 1 + w where nothing is normalised. Works
        on numpy arrays too."""
        combined = judge + self.weight * entailment
        return combined if self.normalisation == "none" else (combined + self.weight) / (1 + 2 * self.weight)

    def weighed(self, weight: float) -> Combination:
        """The same with another weight (Figure 3)."""
        return replace(self, weight=weight)


def unsuited_clap(identity: Mapping[str, Any]) -> str:
    """The CLAP of an AURA of this identity where the released thresholds, which were not made for it, decide; else
    empty."""
    family, combination = identity.get("clap_family", RELEASED_CLAP), identity.get("combination", {})
    released = (combination.get("contradicts_below"), combination.get("entails_above")) == RELEASED_THRESHOLDS
    return str(family) if released and family != RELEASED_CLAP else ""
