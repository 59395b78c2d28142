"""Fusion of judges, against scikit-learn's and scipy's solvers, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.linear_model import LinearRegression

from analytics.statistics.bootstrap import Resampling
from analytics.statistics.judges.fusion import FusionError, JudgedAnswers, fuse

QUICK = Resampling(seed=3, replicates=40)
JUDGES = ("good", "fair", "wide", "guess")
NAN = np.nan


def answers(part: str, n: int, seed: int) -> JudgedAnswers:
    """Three answers to each question. A good judge on a scale of its own, a fair one, one far off 0 to 1, one who
    guesses."""
    draw = np.random.default_rng(seed)
    human = draw.uniform(0, 1, n)
    columns = [
        0.3 + 0.3 * human + draw.normal(0, 0.03, n),
        np.clip(human + draw.normal(0, 0.2, n), 0, 1),
        10 * human + draw.normal(0, 2, n),
        draw.uniform(0, 1, n),
    ]
    names = [f"{part}{at}" for at in range(n)]
    return JudgedAnswers(
        names, [f"{part} question {at // 3}" for at in range(n)], human, np.stack(columns, axis=1)
    )


@pytest.fixture(scope="module")
def parts() -> dict[str, JudgedAnswers]:
    return {"train": answers("train", 300, 1), "dev": answers("dev", 90, 2), "test": answers("test", 120, 4)}


@pytest.fixture(scope="module")
def fused(parts):
    return fuse(JUDGES, parts, resampling=QUICK)


def calibrated(column: np.ndarray, dev: np.ndarray, human: np.ndarray) -> np.ndarray:
    line = LinearRegression(positive=True).fit(dev[:, None], human)
    return np.clip(line.predict(column[:, None]), 0, 1)


def outside_weights(parts: dict[str, JudgedAnswers], judges: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Weights by sequential quadratic programming, and the fused test scores."""
    train, dev, test = (parts[name] for name in ("train", "dev", "test"))
    on = [
        np.stack([calibrated(part.scores[:, at], dev.scores[:, at], dev.human) for at in judges], axis=1)
        for part in (train, test)
    ]
    gram, moment = on[0].T @ on[0], on[0].T @ train.human
    best = optimize.minimize(
        lambda weight: weight @ gram @ weight / 2 - moment @ weight,
        np.full(len(judges), 1 / len(judges)),
        jac=lambda weight: gram @ weight - moment,
        method="SLSQP",
        bounds=[(0, 1)] * len(judges),
        constraints={"type": "eq", "fun": lambda weight: weight.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return best.x, on[1] @ best.x


def test_weights_and_calibrations_are_those_of_other_solvers(parts, fused):
    weights, scores = outside_weights(parts, [0, 1, 2, 3])
    assert [one.weight.value for one in fused.weights] == pytest.approx(weights, abs=1e-6)
    assert list(fused.predictions.values()) == pytest.approx(scores, abs=1e-6)
    dev = parts["dev"]
    for at, one in enumerate(fused.weights):
        line = LinearRegression(positive=True).fit(dev.scores[:, [at]], dev.human)
        assert (one.slope, one.intercept) == pytest.approx((line.coef_[0], line.intercept_), abs=1e-6)


def test_judges_that_hardly_differ_are_weighed_as_exactly(parts):
    draw = np.random.default_rng(9)
    close = {
        name: replace(
            part,
            scores=np.column_stack(
                [part.scores[:, :2], part.scores[:, 0] + draw.normal(0, 1e-3, len(part.human))]
            ),
        )
        for name, part in parts.items()
    }
    found = fuse(("good", "fair", "twin"), close, resampling=QUICK)
    weights, _ = outside_weights(close, [0, 1, 2])
    assert [one.weight.value for one in found.weights] == pytest.approx(weights, abs=1e-6)


def test_without_a_judge_all_is_fitted_again(parts, fused):
    assert [one.name for one in fused.without] == [f"without {name}" for name in JUDGES]
    _, scores = outside_weights(parts, [1, 2, 3])
    test = parts["test"]
    assert fused.without[0].mae.value == pytest.approx(np.abs(scores - test.human).mean(), abs=1e-6)
    assert fused.without[0].spearman.value == pytest.approx(
        stats.spearmanr(scores, test.human).statistic, abs=1e-6
    )


def test_single_judges_are_measured_as_they_are_and_calibrated(parts, fused):
    test, dev = parts["test"], parts["dev"]
    good, _, wide, _ = fused.judges
    assert good.mae.value == pytest.approx(np.abs(test.scores[:, 0] - test.human).mean())
    near = calibrated(test.scores[:, 0], dev.scores[:, 0], dev.human)
    assert good.calibrated_mae.value == pytest.approx(np.abs(near - test.human).mean())
    assert good.pearson.value == pytest.approx(stats.pearsonr(test.scores[:, 0], test.human).statistic)
    assert (wide.mae.value, wide.mae.reason) == (None, "off_scale")
    assert wide.spearman.interval is not None


def test_the_mean_is_of_judges_on_the_scale_and_the_best_is_chosen_without_the_test(parts, fused):
    assert fused.averaged == ("good", "fair", "guess")
    mean = parts["test"].scores[:, [0, 1, 3]].mean(axis=1)
    assert fused.mean.mae.value == pytest.approx(np.abs(mean - parts["test"].human).mean())
    assert fused.best == "good"
    flipped = {**parts, "test": replace(parts["test"], human=1 - parts["test"].human)}
    assert fuse(JUDGES, flipped, resampling=QUICK).best == "good"


def test_intervals_of_weights_resample_questions_of_train_and_dev(fused):
    for one in fused.weights:
        low, high = one.weight.interval
        assert 0 <= low <= one.weight.value + 0.05
        assert high <= 1
    assert fused.weights[0].weight.clusters == 100
    assert fused.judges[0].less.difference.interval is not None


def test_answers_without_a_score_or_ratings_are_left_out_and_counted(parts):
    scores, human = parts["test"].scores.copy(), parts["test"].human.copy()
    scores[:5, 0], scores[3:8, 1], human[100:] = NAN, NAN, NAN
    found = fuse(
        JUDGES, {**parts, "test": replace(parts["test"], scores=scores, human=human)}, resampling=QUICK
    )
    counts = found.counts["test"]
    assert (counts.answers, counts.used, counts.unrated) == (120, 92, 20)
    assert counts.missing == {"good": 5, "fair": 5, "wide": 0, "guess": 0}
    assert len(found.predictions) == found.fusion.mae.n == 92


def test_a_judge_constant_on_dev_is_named_and_one_constant_on_test_has_no_ranks(parts):
    constant = {
        name: replace(part, scores=np.column_stack([part.scores[:, :2], np.full(len(part.human), 0.4)]))
        for name, part in parts.items()
    }
    found = fuse(("good", "fair", "same"), constant, resampling=QUICK)
    assert [one.is_constant for one in found.weights] == [False, False, True]
    assert found.judges[2].spearman.reason == "constant_scores"
    assert found.fusion.spearman.value is not None


def refused(judges, parts) -> tuple[str, str]:
    with pytest.raises(FusionError) as raised:
        fuse(judges, parts, resampling=QUICK)
    return raised.value.code, str(raised.value)


def test_splits_that_share_an_answer_or_a_question_are_refused(parts):
    dev = parts["dev"]
    code, message = refused(JUDGES, {**parts, "dev": replace(dev, names=["train7", *dev.names[1:]])})
    assert code == "overlap"
    assert "1 answer lies in two of them, 'train7' (train and dev)" in message
    code, message = refused(
        JUDGES, {**parts, "dev": replace(dev, questions=["train question 0"] * len(dev.names))}
    )
    assert "1 question lies" in message


def test_a_judge_without_a_score_on_dev_is_refused_by_name(parts):
    scores = parts["dev"].scores.copy()
    scores[:, 1] = NAN
    code, message = refused(JUDGES, {**parts, "dev": replace(parts["dev"], scores=scores)})
    assert (code, message.split(" has")[0]) == ("no_predictions", "fair")


def test_fewer_answers_than_judges_and_an_empty_split_are_refused(parts):
    few = parts["train"].select(np.arange(4))
    code, message = refused(JUDGES, {**parts, "train": few})
    assert code == "too_few"
    assert "4 of 4 answers in train" in message
    assert "5 are needed" in message
    assert refused(JUDGES, {"train": parts["train"], "test": parts["test"]})[0] == "no_part"
    assert refused(("a", "a", "b", "c"), parts)[0] == "same_judge"


def test_one_judge_is_its_own_fusion_and_has_nothing_to_be_left_out_of(parts):
    alone = {name: part.judges([0]) for name, part in parts.items()}
    found = fuse(("good",), alone, resampling=QUICK)
    assert (found.weights[0].weight.value, found.weights[0].weight.reason) == (1.0, "one_judge")
    assert found.without == ()
    assert found.mean.spearman.reason == "few_on_scale"
