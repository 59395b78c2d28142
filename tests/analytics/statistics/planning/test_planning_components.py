"""Variance components of votes: equal to the analysis of variance where that is defined, and right on average."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analytics.statistics.planning.variance_components import SENTENCES, variance_components


def complete(rng, *, outputs=12, raters=8, severity=0.5, quality=1.0, noise=0.7):
    """(outputs, raters) votes on one system's outputs, by everybody."""
    votes = rng.normal(0, quality, (outputs, 1)) + rng.normal(0, severity, (1, raters))
    return votes + rng.normal(0, noise, (outputs, raters))


def columns(votes):
    outputs, raters = votes.shape
    unit, rater = (grid.ravel() for grid in np.indices((outputs, raters)))
    return votes.ravel(), {"unit": unit, "system": np.zeros_like(unit), "item": unit, "rater": rater}


def test_a_complete_table_gives_the_analysis_of_variance():
    votes = complete(np.random.default_rng(1))
    n, k = votes.shape
    rows, people = votes.mean(axis=1), votes.mean(axis=0)
    between_outputs = k * rows.var(ddof=1)
    between_raters = n * people.var(ddof=1)
    rest = ((votes - rows[:, None] - people + votes.mean()) ** 2).sum() / (n - 1) / (k - 1)
    values, where = columns(votes)
    found = variance_components(values, **where)
    assert found.components.raters == pytest.approx((between_raters - rest) / n)
    assert found.components.outputs == pytest.approx((between_outputs - rest) / k)
    assert found.components.residual == pytest.approx(rest)
    assert found.components.items == 0
    assert found.notes == ("small", "no_shared_items")


def test_sparse_votes_of_several_systems_are_right_on_average():
    """Forty studies of three systems on 60 items, each answer rated by 3 of 20 raters."""
    rng, drawn = np.random.default_rng(2), []
    for _ in range(40):
        item, system = (grid.ravel() for grid in np.indices((60, 3)))
        unit = np.repeat(np.arange(180), 3)
        rater = rng.permuted(np.tile(np.arange(20), (180, 1)), axis=1)[:, :3].ravel()
        values = rng.normal(0, 0.6, 60)[item] + rng.normal(0, 0.5, 180) + np.array([0.0, 2.0, 5.0])[system]
        votes = values[unit] + rng.normal(0, 0.4, 20)[rater] + rng.normal(0, 0.8, 540)
        found = variance_components(votes, unit=unit, system=system[unit], item=item[unit], rater=rater)
        parts = found.components
        drawn.append((parts.raters, parts.items, parts.outputs, parts.residual))
        assert not found.notes
    assert np.mean(drawn, axis=0) == pytest.approx([0.16, 0.36, 0.25, 0.64], abs=0.04)


def test_neither_order_nor_names_nor_the_zero_of_the_scale_matter():
    rng = np.random.default_rng(3)
    values, where = columns(complete(rng))
    order = rng.permutation(len(values))
    moved = variance_components(
        values[order] + 1000,
        **{name: 7 * column[order] + 3 for name, column in where.items()},
    )
    for name in ("raters", "outputs", "residual"):
        expected = getattr(variance_components(values, **where).components, name)
        assert getattr(moved.components, name) == pytest.approx(expected)


def test_raters_who_are_not_named_make_severity_part_of_the_noise():
    values, where = columns(complete(np.random.default_rng(4)))
    named = variance_components(values, **where).components
    unnamed = variance_components(values, **{**where, "rater": np.full(len(values), -1)})
    assert unnamed.components.raters == 0
    assert "raters_apart" in unnamed.notes
    assert unnamed.components.residual > named.residual


def test_a_missing_rating_is_no_vote():
    values, where = columns(complete(np.random.default_rng(5)))
    with_gap = np.append(values, math.nan)
    found = variance_components(with_gap, **{name: np.append(column, 0) for name, column in where.items()})
    assert found.components == variance_components(values, **where).components
    assert found.votes == len(values)


@pytest.mark.parametrize(
    ("units", "raters", "note"),
    [
        ([], [], "no_votes"),
        ([0, 1, 2], [0, 1, 2], "one_vote_each"),
        ([0, 0, 0], [0, 1, 2], "one_output_each"),
    ],
)
def test_what_votes_cannot_tell_is_said(units, raters, note):
    unit, rater = np.array(units, dtype=np.int64), np.array(raters, dtype=np.int64)
    found = variance_components(
        np.arange(len(units), dtype=float), unit=unit, system=0 * unit, item=unit, rater=rater
    )
    assert found.components is None
    assert note in found.notes
    assert all(SENTENCES[code] for code in found.notes)


def test_equal_votes_have_no_variance():
    values, where = columns(np.full((6, 4), 3.0))
    assert variance_components(values, **where).components.total == 0
