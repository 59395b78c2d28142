"""Models of raters: published values, an independent implementation, and data whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.raters import category_models, ordinal_model, pair_model
from analytics.statistics.raters.category_models import Votes, dawid_skene, mace
from analytics.statistics.raters.ordinal_model import ordinal_severities
from analytics.statistics.raters.pair_model import Preferences, noisy_bradley_terry

# Dawid & Skene 1979, table 1: 45 patients, by the first anaesthetist three times, then by four others.
ANAESTHETISTS = (  # noqa: SIM905  (a table, as printed)
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212 "
    "1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111 "
    "1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111 "
    "2322222 1211111 2222222"
).split(" ")


@pytest.fixture(scope="module")
def anaesthetists() -> Votes:
    cells = [
        (patient, (0, 0, 0, 1, 2, 3, 4)[column], int(label) - 1)
        for patient, labels in enumerate(ANAESTHETISTS)
        for column, label in enumerate(labels)
    ]
    return Votes.of(*np.array(cells).T, n_classes=4)


def test_dawid_and_skenes_estimates_are_theirs(anaesthetists: Votes) -> None:
    """Table 2 of the paper: the marginal probabilities, and the first anaesthetist's error rates."""
    model = dawid_skene(anaesthetists, smoothing=0)
    assert model.prevalence == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)
    first = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    assert model.confusion[0] == pytest.approx(np.array(first), abs=0.006)
    assert model.converged
    assert [model.label[patient - 1] + 1 for patient in (2, 3, 11, 36)] == [4, 2, 4, 4]


def categories(rng: np.random.Generator) -> tuple[Votes, np.ndarray, np.ndarray]:
    """300 units of three categories, five votes each by eight raters who are right in 90 % and four who guess."""
    truth, accuracy = rng.integers(3, size=300), np.array([0.9] * 8 + [1 / 3] * 4)
    unit = np.repeat(np.arange(300), 5)
    rater = np.concatenate([rng.choice(12, 5, replace=False) for _ in range(300)])
    wrong = (truth[unit] + rng.integers(1, 3, size=len(unit))) % 3
    label = np.where(rng.random(len(unit)) < accuracy[rater], truth[unit], wrong)
    return Votes.of(unit, rater, label, n_classes=3), truth, accuracy


@pytest.mark.parametrize("fit", [dawid_skene, mace])
def test_guessing_raters_are_known_and_the_labels_are_better_than_the_majoritys(
    fit: category_models.Fit,
) -> None:
    votes, truth, _ = categories(np.random.default_rng(4))
    model = fit(votes, None)
    assert model.reliability[:8].min() > 0.7 > 0.5 > model.reliability[8:].max()
    majority = category_models.vote_shares(votes).argmax(axis=1)
    assert (model.label == truth).mean() > (majority == truth).mean() + 0.02
    assert abs(model.certainty.mean() - (model.label == truth).mean()) < 0.05  # it knows how sure it may be


def test_intervals_of_reliability_hold_the_truth_and_units_drawn_again_give_them() -> None:
    votes, _, accuracy = categories(np.random.default_rng(5))
    model = category_models.with_intervals(dawid_skene, votes, resampling=Resampling(seed=1, replicates=60))
    held = [low <= true <= high for (low, high), true in zip(model.intervals, accuracy, strict=True) if low]
    assert sum(held) >= 10
    again = category_models.with_intervals(dawid_skene, votes, resampling=Resampling(seed=1, replicates=60))
    assert again.intervals == model.intervals


def test_strengths_are_not_watered_down_by_raters_who_vote_at_random_or_the_other_way_round() -> None:
    rng = np.random.default_rng(6)
    strength, eta = np.linspace(-1.5, 1.5, 6), np.array([1.0] * 8 + [0.5] * 4 + [0.0] * 2)
    first = rng.integers(6, size=1500)
    second = (first + rng.integers(1, 6, size=1500)) % 6
    rater = rng.integers(14, size=1500)
    ahead = 1 / (1 + np.exp(strength[second] - strength[first]))
    win = (rng.random(1500) < eta[rater] * ahead + (1 - eta[rater]) * (1 - ahead)).astype(float)
    votes = Preferences.of(first, second, rater, win)
    model = noisy_bradley_terry(votes)
    assert model.converged
    assert np.abs(model.strength - strength).max() < 0.7 < np.abs(model.unweighted - strength).max()
    assert np.corrcoef(model.strength, strength)[0, 1] > 0.97
    assert model.reliability[:8].min() > 0.75 > model.reliability[8:12].max() > 0.35
    assert model.reliability[12:].max() < 0.2
    interval = pair_model.with_intervals(
        votes, clusters=np.arange(1500) // 5, resampling=Resampling(seed=1, replicates=40)
    )
    for ends, value in zip(interval.strength_intervals, model.strength, strict=True):
        assert ends is not None
        assert ends[0] < value < ends[1]


def test_severity_and_discrimination_are_told_apart_and_correct_the_means() -> None:
    rng = np.random.default_rng(7)
    theta, severity = rng.normal(size=150), np.array([-0.8, -0.4, 0, 0, 0, 0.4, 0.8, 0])
    slope, cuts = np.array([2.5] * 7 + [0.2]), np.array([-1.5, -0.5, 0.5, 1.5])
    unit = np.repeat(np.arange(150), 3)
    rater = np.concatenate([rng.choice(8, 3, replace=False) for _ in range(150)])
    heard = slope[rater] * (theta[unit] - severity[rater]) + rng.logistic(size=450)
    value = 1.0 + (heard[:, None] > slope[rater][:, None] * cuts).sum(axis=1)
    model = ordinal_severities(unit, rater, value, points=np.arange(1.0, 6.0))
    assert model.converged
    assert np.corrcoef(model.severity[:7], severity[:7])[0, 1] > 0.95
    assert model.discrimination.argmin() == 7
    assert model.severity_points[0] < -0.2 < 0.2 < model.severity_points[6]
    adjusted, plain = (np.corrcoef(column, theta)[0, 1] for column in (model.adjusted, model.unweighted))
    assert adjusted > plain + 0.02


def test_votes_of_nobody_and_values_beyond_the_scale_are_refused() -> None:
    one = np.array([0])
    with pytest.raises(ValueError, match="named raters"):
        Votes.of(one, one - 1, one, n_classes=2)
    with pytest.raises(ValueError, match="beyond the 2 classes"):
        Votes.of(one, one, one + 2, n_classes=2)
    with pytest.raises(ValueError, match="named raters"):
        Preferences.of(one, one + 1, one - 1, one.astype(float))
    with pytest.raises(ValueError, match="not on the scale"):
        ordinal_model.ordinal_severities(one, one, np.array([2.5]), points=np.array([1.0, 2.0, 3.0]))


def test_where_a_strict_rater_gives_most_ratings_the_model_still_predicts_them():
    """Centring severities moves what units are worth, too: predicted from both, the ratings have the observed mean."""
    rng = np.random.default_rng(6)
    unit = np.concatenate([np.arange(60), np.arange(60), np.arange(12), np.arange(12)])
    rater = np.repeat([0, 1, 2, 3], [60, 60, 12, 12])
    worth = (
        rng.normal(0, 1, 60)[unit] - np.array([1.2, 1.2, -1.0, -1.0])[rater] + rng.logistic(0, 0.6, len(unit))
    )
    value, points = np.digitize(worth, [-1.5, -0.5, 0.5, 1.5]) + 1.0, np.arange(1.0, 6.0)
    model = ordinal_severities(unit, rater, value, points=points)
    eta = model.theta[unit] - model.severity[rater]
    predicted = ordinal_model._expected(eta, model.discrimination[rater], model.thresholds, points)
    assert abs(np.average(model.severity, weights=model.n)) < 1e-9
    assert predicted.mean() == pytest.approx(value.mean(), abs=0.03)
