"""Verification of alpha by the `krippendorff` package.

That package is GPL-3.0-or-later. This is the only module that imports it, and only `agreement --verify` and
the tests import this module.
"""

from __future__ import annotations

import math

import krippendorff
import numpy as np

from analytics.statistics.agreement.disagreement import Level
from analytics.statistics.agreement.patterns import Patterns

# The package holds about three units x V x V tables of float64.
_LARGEST_BYTES = 4 * 2**30


def package_alpha(patterns: Patterns, *, level: Level) -> float | None:
    """Alpha as the package computes it from one count row per unit; None where it refuses or answers NaN.

    Raises ValueError where its tables would take more than 4 GB: it runs out of memory there.
    """
    needed = 24 * patterns.units * len(patterns.values) ** 2
    if needed > _LARGEST_BYTES:
        raise ValueError(
            f"The krippendorff package would need about {needed / 2**30:.0f} GB for these ratings."
        )
    if len(patterns.values) < 2 or not (patterns.sizes >= 2).any():
        return None
    counts = np.repeat(patterns.counts, patterns.multiplicity, axis=0)
    with np.errstate(invalid="ignore"):
        alpha = float(
            krippendorff.alpha(value_counts=counts, value_domain=patterns.values, level_of_measurement=level)
        )
    return None if math.isnan(alpha) else alpha
