"""Several judges' scores as one, against scipy's optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from analytics.statistics.judges.aggregation import cross_fitted, learned_weights, simple_mean

NAN = np.nan


def judged(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three judges: one good and on another scale, one fair, one who guesses."""
    draw = np.random.default_rng(seed)
    people = draw.uniform(0, 1, n)
    good = 0.3 + 0.3 * people + draw.normal(0, 0.03, n)
    fair = np.clip(people + draw.normal(0, 0.3, n), 0, 1)
    return np.stack([good, fair, draw.uniform(0, 1, n)], axis=1), people


def test_the_mean_is_that_of_the_judges_who_have_a_score():
    found = simple_mean(np.array([[0.2, 0.4], [NAN, 0.6], [NAN, NAN]]))
    assert found[:2] == pytest.approx([0.3, 0.6])
    assert np.isnan(found[2])


def test_scores_are_calibrated_on_dev_and_weights_learned_on_train():
    (train, train_people), (dev, dev_people) = judged(400, 1), judged(200, 2)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    lines = np.array([np.polyfit(column, dev_people, 1) for column in dev.T])
    assert found.slope == pytest.approx(np.maximum(lines[:, 0], 0))
    assert found.intercept[:2] == pytest.approx(lines[:2, 1])
    calibrated = found.calibrated(train)
    best = optimize.minimize(
        lambda weight: ((calibrated @ weight - train_people) ** 2).mean(),
        np.full(3, 1 / 3),
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda weight: weight.sum() - 1},
        tol=1e-12,
    )
    assert found.weight == pytest.approx(best.x, abs=1e-4)
    assert found.weight.sum() == pytest.approx(1)
    assert found.weight[0] > 0.8


def test_learned_weights_err_less_than_the_mean_on_what_neither_has_seen():
    (train, train_people), (dev, dev_people), (test, people) = judged(400, 1), judged(200, 2), judged(300, 3)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    assert np.abs(found(test) - people).mean() < np.abs(simple_mean(test) - people).mean() / 2


def test_a_judge_who_is_missing_leaves_the_weight_to_the_others():
    (train, train_people), (dev, dev_people) = judged(400, 1), judged(200, 2)
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    only = np.array([[NAN, 0.4, NAN], [NAN, NAN, NAN]])
    got = found(only)
    assert got[0] == pytest.approx(found.calibrated(only)[0, 1])
    assert np.isnan(got[1])


def test_a_judge_who_runs_against_people_is_not_turned_round_and_one_without_spread_is_harmless():
    (train, train_people), (dev, dev_people) = judged(50, 1), judged(50, 2)
    train, dev = (np.column_stack([part[:, 0], 1 - part[:, 0], np.full(50, 0.5)]) for part in (train, dev))
    found = learned_weights(train, train_people, dev, dev_people).aggregation
    assert found is not None
    assert found.slope[1:] == pytest.approx([0, 0])
    assert np.isfinite(found(train)).all()


def test_too_few_answers_are_named():
    scores, people = judged(10, 1)
    assert learned_weights(scores, people, scores[:2], people[:2]).reason == "too_few_dev"
    scores[3:] = NAN
    whole, means = judged(10, 2)
    assert learned_weights(scores[2:], people[2:], whole, means).reason == "too_few_train"


def test_no_answer_is_foretold_by_weights_that_saw_it():
    scores, people = judged(60, 5)
    groups = np.repeat(np.arange(20), 3)
    before = cross_fitted(scores, people, groups, seed=1)
    turned = people.copy()
    turned[groups == 7] = 1 - turned[groups == 7]
    after = cross_fitted(scores, turned, groups, seed=1)
    assert len(before.parts) == 5
    assert (after.scores[groups == 7] == before.scores[groups == 7]).all()
    assert (after.scores != before.scores).any()


def test_weights_need_three_answers_when_a_part_is_set_apart():
    scores, people = judged(12, 5)
    found = cross_fitted(scores, people, np.repeat([1, 2], [10, 2]), seed=1)
    assert (found.reason, found.parts) == ("too_few_apart", ())
    assert np.isnan(found.scores).all()
