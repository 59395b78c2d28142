"""AURA's score against values computed by hand and against another reading of the paper's equation."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from scoring.metrics.aura.formula import RELEASED_CLAP, RELEASED_THRESHOLDS, Combination, unsuited_clap

# S_LLM, S_AE, w, and the score by hand: (S_LLM + w S_AE + w) / (1 + 2 w).
BY_HAND = [
    (1.0, 1, 0.1, 1.0),
    (1.0, 0, 0.1, 1.1 / 1.2),
    (1.0, -1, 0.1, 1.0 / 1.2),
    (0.5, 1, 0.1, 0.7 / 1.2),
    (0.5, 0, 0.1, 0.5),
    (0.5, -1, 0.1, 0.5 / 1.2),
    (0.0, 1, 0.1, 0.2 / 1.2),
    (0.0, 0, 0.1, 0.1 / 1.2),
    (0.0, -1, 0.1, 0.0),
    (0.5, 1, 0.25, 1.0 / 1.5),
    (0.75, -1, 0.5, 0.375),
    (0.5, 1, 0.0, 0.5),
]


@pytest.mark.parametrize(("judge", "entailment", "weight", "expected"), BY_HAND)
def test_scores_are_those_computed_by_hand(
    judge: float, entailment: int, weight: float, expected: float
) -> None:
    assert Combination(weight=weight).score(judge, entailment) == pytest.approx(expected, abs=1e-12)


def _min_max(judge: str, entailment: int, weight: str) -> Fraction:
    """Equation 2 as it stands: the sum, min-max scaled between the least and the greatest that it can be, exactly."""
    w = Fraction(weight)
    sums = [Fraction(s) + w * e for s, e in product(("0", "1/2", "1"), (-1, 0, 1))]
    return (Fraction(judge) + w * entailment - min(sums)) / (max(sums) - min(sums))


@pytest.mark.parametrize("weight", ["0.01", "0.05", "0.1", "0.15", "0.3", "0.5", "1", "2.5"])
def test_scores_are_the_sum_min_max_scaled(weight: str) -> None:
    combination = Combination().weighed(float(weight))
    for judge, entailment in product(("0", "1/4", "1/2", "2/3", "1"), (-1, 0, 1)):
        outside = float(_min_max(judge, entailment, weight))
        assert abs(combination.score(float(Fraction(judge)), entailment) - outside) < 1e-9


@pytest.mark.parametrize(
    ("cosine", "expected"),
    [(-1.0, -1), (0.0, -1), (0.2499, -1), (0.25, 0), (0.4, 0), (0.55, 0), (0.5501, 1), (1.0, 1)],
)
def test_thresholds_are_neutral_themselves_as_in_the_released_code(cosine: float, expected: int) -> None:
    assert Combination().entailment(cosine) == expected


def test_other_thresholds_move_the_classes() -> None:
    assert Combination(contradicts_below=0.0, entails_above=0.3).entailment(0.4) == 1


def test_without_normalisation_it_is_the_sum() -> None:
    plain = Combination(normalisation="none")
    assert plain.score(1.0, 1) == pytest.approx(1.1)
    assert plain.score(0.0, -1) == pytest.approx(-0.1)


def test_another_weight_is_computed_from_arrays_of_parts() -> None:
    judge, entailment = np.array([0.0, 0.5, 1.0]), np.array([1, -1, 0])
    swept = Combination().weighed(0.5).score(judge, entailment)  # type: ignore[arg-type]  # arrays, as documented
    np.testing.assert_allclose(swept, [0.5, 0.25, 0.75], atol=1e-12)


@pytest.mark.parametrize(
    ("family", "thresholds", "unsuited"),
    [
        (RELEASED_CLAP, RELEASED_THRESHOLDS, ""),
        ("LAION-CLAP", RELEASED_THRESHOLDS, "LAION-CLAP"),
        ("LAION-CLAP", (0.1, 0.3), ""),
    ],
)
def test_released_thresholds_with_another_clap_are_noticed(family, thresholds, unsuited):
    combination = Combination(contradicts_below=thresholds[0], entails_above=thresholds[1])
    assert unsuited_clap({"clap_family": family, "combination": asdict(combination)}) == unsuited


def test_other_scorers_have_no_thresholds():
    assert unsuited_clap({"metric": "bleu"}) == ""
