"""Units for alpha's interval, and what overlap does to its error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analytics.statistics.agreement.alpha import Agreement, krippendorff_alpha, symmetric_alpha
from analytics.statistics.agreement.patterns import patterns_from_long
from analytics.statistics.planning.sample_size import (
    StudyDesign,
    alpha_half_width,
    normal_root_error,
    pairable_overlap,
    pairable_share,
    plan_alpha,
    root_error_at_overlap,
    root_n_error,
)

PAIRS = StudyDesign(blocks=1, items=1, overlap=2, votes_per_rater=50)


def test_a_pilot_of_as_many_units_gives_its_own_interval_back():
    """Krippendorff's example of 11 pairable units: ordinal alpha 0.815, jackknife error 0.148031."""
    found = plan_alpha(root_n_error(0.148031, units=11), PAIRS, half_width=0.148031 * 2.2281389 + 1e-6)
    assert found.design.items == 11
    assert found.reached == pytest.approx(0.148031 * 2.2281389, rel=1e-6)


def test_four_times_the_units_halve_the_error():
    wide, narrow = (plan_alpha(1.0, PAIRS, half_width=h).design.items for h in (0.1, 0.05))
    assert narrow == pytest.approx(4 * wide, rel=0.01)


def test_published_agreement_of_preferences():
    """492 comparisons of which 31 % of the pairs of votes disagree: the error of 1 - 2 D over units of two votes."""
    root = 2 * math.sqrt(0.309 * 0.691)
    assert alpha_half_width(root, 492) == pytest.approx(0.082, abs=1e-3)


@pytest.mark.parametrize(("alpha", "overlap"), [(0.5, 2), (0.7, 3), (0.2, 5)])
def test_the_error_for_normal_ratings_is_the_jackknifes(alpha, overlap):
    rng, units = np.random.default_rng(11), 3000
    quality = rng.normal(0, math.sqrt(alpha), (units, 1))
    ratings = np.round(quality + rng.normal(0, math.sqrt(1 - alpha), (units, overlap)), 1)
    found = krippendorff_alpha(
        patterns_from_long(np.repeat(np.arange(units), overlap), ratings.ravel()), level="interval"
    )
    error = (found.alpha - found.ci[0]) / 1.9607
    assert root_n_error(error, units=units) == pytest.approx(normal_root_error(alpha, overlap), rel=0.06)


def test_more_raters_of_a_unit_make_a_pilots_error_smaller():
    errors = [root_error_at_overlap(0.9, 0.4, pilot_overlap=2, overlap=k) for k in (2, 3, 5, 7)]
    assert errors[0] == pytest.approx(0.9)
    assert errors == sorted(errors, reverse=True)


def test_perfect_agreement_says_nothing_about_its_error():
    assert plan_alpha(0.0, PAIRS, half_width=0.05).reason == "at_the_edge"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_alpha(0.9, StudyDesign(1, 1, 1, 20), half_width=0.1), "two ratings"),
        (lambda: plan_alpha(0.9, PAIRS, half_width=0.0), "above zero"),
        (lambda: normal_root_error(1.0, 2), "Alpha lies"),
        (lambda: normal_root_error(0.5, 1), "two ratings"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_one_unit_has_no_interval():
    assert alpha_half_width(0.9, 1) is None


@pytest.mark.parametrize(("ties", "overlap"), [(0.0, 3), (0.3, 2), (0.4, 5)])
def test_what_ties_leave_is_counted_over_all_outcomes(ties, overlap):
    chance = {
        n: math.comb(overlap, n) * (1 - ties) ** n * ties ** (overlap - n) for n in range(2, overlap + 1)
    }
    assert pairable_share(ties, overlap) == pytest.approx(sum(chance.values()))
    mean = sum(n * p for n, p in chance.items()) / sum(chance.values())
    assert pairable_overlap(ties, overlap) == pytest.approx(mean)


def test_the_promised_width_is_delivered_where_a_third_of_the_votes_are_ties():
    """A pilot's error is by its pairable comparisons; the plan counts the ones to collect."""
    rng = np.random.default_rng(2)

    def alpha(units: int) -> Agreement:
        leaning = rng.beta(0.8, 0.8, units)[:, None]
        votes = np.where(rng.random((units, 2)) < leaning, 1.0, 2.0)
        votes[rng.random(votes.shape) < 1 / 3] = np.nan
        return symmetric_alpha(patterns_from_long(np.repeat(np.arange(units), 2), votes.ravel()))

    pilot = alpha(2000)
    error = (pilot.alpha - pilot.ci[0]) / 1.9625
    found = plan_alpha(root_n_error(error, units=pilot.pairable_units), PAIRS, half_width=0.1, ties=1 / 3)
    widths = [np.ptp(alpha(found.design.items).ci) / 2 for _ in range(20)]
    assert found.reached <= 0.1
    assert np.mean(widths) == pytest.approx(0.1, rel=0.05)
    assert "ties_unpaired" in found.assumptions
