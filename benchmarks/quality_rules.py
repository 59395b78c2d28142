"""The recommended rules on simulated raters whose profiles are known: how many good ones they take, how many bad ones
they find, with a look after every five votes from the 30th on.

    python -m benchmarks.quality_rules [--seeds 10] [--votes 40] [--overlap 3] [--looks 5]

By the statistics alone, without a database: answers are drawn from the profiles of `annotation.simulation`, two
questions a task, for pairs and for ratings, where raters agree as in listening tests (alpha 0.2 and 0.45) and where
they hardly do (0.1). Gold tasks and traps, three in twenty of what a rater meets, are in one half of the runs.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from analytics.statistics.agreement.disagreement import AnyLevel
from benchmarks import harness

MIX = "careful:10,average:12,severe:8,hasty:3,left-biased:1,always-3:2,random:2,adversarial:2"
# By name: kind, how far tasks differ beside what the profiles were made for, hidden checks. Without checks, and where
# raters hardly agree, no statistic can tell in 40 tasks who guesses half of the time: only the good have a bound there.
_SPREADS = {
    "pairs": {"alpha 0.2": 1.0, "alpha 0.1": 0.5},
    "ratings": {"alpha 0.45": 1.0, "alpha 0.1": 0.4},
}
SCENES = {
    f"{kind}, {name}, {'checks' if checks else 'no checks'}": (kind, spread, checks)
    for kind, spreads in _SPREADS.items()
    for name, spread in spreads.items()
    for checks in (True, False)
}
MOST_GOOD, LEAST_BAD = 0.02, 0.9
CHECKS_PER_VOTE = 3 / 17


def main() -> None:
    arguments = harness.options(__doc__, seeds=10, votes=40, overlap=3, looks=5)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    figures: dict[str, Any] = {}
    targets: harness.Targets = {}
    for name, (kind, spread, checks) in SCENES.items():
        runs = [
            run(kind, spread, checks=checks, seed=seed, arguments=arguments)
            for seed in range(arguments.seeds)
        ]
        figures[name] = summary(runs)
        print(name, figures[name])
        targets[f"{name}: good raters taken"] = (figures[name]["good_taken"], MOST_GOOD, "<=")
        if checks:
            targets[f"{name}: bad raters found"] = (figures[name]["bad_found"], LEAST_BAD, ">=")
    harness.finish("the recommended rules take few good raters and find the bad ones", figures, targets)


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    from annotation.simulation.profiles import profiles

    taken, raters, by_rule = Counter[str](), Counter[str](), Counter[str]()
    for one in runs:
        for profile, rule in one["raters"]:
            raters[profile] += 1
            taken[profile] += rule is not None
            if rule is not None and profiles()[profile].good:
                by_rule[rule] += 1
    good = {key for key in raters if profiles()[key].good}
    n_good, n_found = sum(taken[key] for key in good), sum(taken.values())
    return {
        "alpha": round(float(np.mean([one["alpha"] for one in runs])), 2),
        "good_taken": round(n_good / sum(raters[key] for key in good), 4),
        "bad_found": round((n_found - n_good) / sum(raters[key] for key in raters if key not in good), 3),
        "precision": round((n_found - n_good) / max(n_found, 1), 3),
        "found": {key: f"{taken[key]} of {n}" for key, n in raters.items()},
        "good_by_rule": dict(by_rule),
    }


def run(kind: str, spread: float, *, checks: bool, seed: int, arguments: Any) -> dict[str, Any]:
    """One study: of each rater the profile, and the rule that took them first."""
    from analytics.raters.rules import PRESETS, SEVERE
    from annotation.simulation.profiles import draw_raters, parse_mix

    raters = draw_raters(parse_mix(MIX), seed=seed)
    questions = [Votes(kind, spread, raters, seed=[seed, n], arguments=arguments) for n in range(2)]
    known = hidden_checks(raters, kind, arguments.votes, seed=seed) if checks else None
    rules = [rule for rule in PRESETS["recommended"][1].rules if rule.action in SEVERE]
    taken: dict[int, str] = {}
    for n_votes in [*range(30, arguments.votes, arguments.looks), arguments.votes]:
        for rater, found in enumerate(figures_at(questions, known, n_votes)):
            for rule in rules:
                if rule.holds(found):
                    taken.setdefault(rater, rule.key)
    return {
        "raters": [(one.profile.key, taken.get(n)) for n, one in enumerate(raters)],
        "alpha": np.mean([one.alpha() for one in questions]),
    }


def hidden_checks(raters: Sequence[Any], kind: str, votes: int, *, seed: int) -> Any:
    """(raters, checks) whether each was passed: two gold tasks, then a spoken trap."""
    rng = np.random.default_rng([seed, 99])
    n = round(votes * CHECKS_PER_VOTE)
    shape, guess = (len(raters), n), 0.5 if kind == "pairs" else 0.3
    gold = np.array([[gold_chance(one.profile, kind)] for one in raters])
    spoken = np.arange(n) % 3 == 2
    lapsed = rng.random(shape) < np.array([[one.profile.lapse] for one in raters])
    return rng.random(shape) < np.where(lapsed, guess, np.where(spoken, 1.0, gold))


def gold_chance(profile: Any, kind: str) -> float:
    """Of who does not guess, to answer a gold task right: a known better side, or a rating within one point."""
    if kind == "pairs":
        return float(1 / (1 + math.exp(-3.0 * profile.sensitivity)))
    if profile.sensitivity < 0:
        return 0.3
    sd = max(profile.noise, 0.01)
    ends = ((side * 1.5 / 4 + profile.severity) / (sd * math.sqrt(2)) for side in (1, -1))
    high, low = (0.5 * (1 + math.erf(end)) for end in ends)
    return high - low


class Votes:
    """Answers of all raters to one question, in rounds of one vote each: `who` and `code` (tasks, overlap)."""

    def __init__(
        self, kind: str, spread: float, raters: Sequence[Any], *, seed: Sequence[int], arguments: Any
    ) -> None:
        rng = np.random.default_rng([*seed, 7])
        n, overlap, votes = len(raters), arguments.overlap, arguments.votes
        tasks = n * votes // overlap
        order = np.concatenate([rng.permutation(n) for _ in range(votes)])[: tasks * overlap]
        self.who = order.reshape(tasks, overlap)
        self.round = (np.arange(tasks * overlap) // n).reshape(tasks, overlap)
        self.good = np.array([one.profile.good for one in raters])
        self.shown_first = None
        profile = {
            name: np.array([getattr(one.profile, name) for one in raters])[self.who]
            for name in ("sensitivity", "noise", "severity", "spread", "lapse", "guess", "position_bias")
        }
        lapsed = rng.random(self.who.shape) < profile["lapse"]
        if kind == "pairs":
            self.size = 2
            self.level: AnyLevel = "symmetric"
            swapped, coin = rng.random(self.who.shape) < 0.5, rng.random(self.who.shape) < 0.5
            margin = profile["sensitivity"] * rng.normal(0, math.sqrt(2) * spread, tasks)[:, None]
            margin += rng.logistic(size=self.who.shape)
            heard = np.where(swapped, -margin, margin) + profile["position_bias"] > 0
            guessed = np.where(profile["guess"] == "random", coin, profile["guess"] == "first")
            self.shown_first = np.where(lapsed, guessed, heard)
            self.code = np.where(self.shown_first != swapped, 0, 1)
            return
        self.size, self.level = 5, "ordinal"
        true = 0.5 + spread * (rng.random(tasks)[:, None] - 0.5)
        true = np.where(profile["sensitivity"] >= 0, true, 1 - true)
        share = 0.5 + profile["spread"] * (true - 0.5) - profile["severity"]
        share = share + profile["noise"] * rng.normal(size=self.who.shape) / min(1.0, spread + 0.15)
        guessed = np.where(profile["guess"] == "random", rng.random(self.who.shape), 0.5)
        guessed = np.where(profile["guess"] == "first", 0.0, guessed)
        self.code = np.clip(np.rint(4 * np.where(lapsed, guessed, share)), 0, 4).astype(int)

    def of(self, rater: int, n_votes: int) -> tuple[Any, Any, Any]:
        """After a round: the rater's codes, how many others gave each value by then, choices of what stood first."""
        task, place = np.nonzero((self.who == rater) & (self.round < n_votes))
        given = self.round[task] < n_votes
        counts = np.stack(
            [((self.code[task] == value) & given).sum(axis=1) for value in range(self.size)], axis=1
        )
        own = self.code[task, place]
        counts[np.arange(len(own)), own] -= 1
        return own, counts, None if self.shown_first is None else self.shown_first[task, place]

    def alpha(self) -> float:
        from analytics.statistics.agreement.alpha import krippendorff_alpha
        from analytics.statistics.agreement.patterns import patterns_from_long

        tasks = np.repeat(np.arange(len(self.code)), self.code.shape[1])
        patterns = patterns_from_long(tasks, self.code.ravel())
        return krippendorff_alpha(patterns, level="nominal" if self.size == 2 else "ordinal").alpha or 0.0


def figures_at(questions: Sequence[Votes], checks: Any, n_votes: int) -> list[dict[str, Any]]:
    """By rater, what the rules look at; as `analytics.raters.quality` makes it of the same sums."""
    from analytics.raters.rules import FIGURES, Measured
    from analytics.statistics.raters import quality
    from analytics.statistics.raters.against_the_rest import (
        against_the_rest,
        content_evidence,
        most_likely_concentration,
        rater_sums,
    )

    n_raters = len(questions[0].good)
    content, agreement, compared = np.zeros(n_raters), np.zeros(n_raters), np.zeros(n_raters, dtype=int)
    found = [dict.fromkeys(FIGURES, Measured(None, 0)) for _ in range(n_raters)]
    for question in questions:
        answers = [question.of(rater, n_votes) for rater in range(n_raters)]
        ordered = question.level == "ordinal"
        evidence = np.array([content_evidence(others, own, ordered=ordered) for own, others, _ in answers])
        sums = [rater_sums(others, own) for own, others, _ in answers]
        rest = against_the_rest(
            np.array([one.share for one in sums]), np.array([one.without for one in sums]), np.ones(n_raters),
            np.arange(question.size, dtype=float), level=question.level,
        )  # fmt: skip
        content += evidence[:, most_likely_concentration(evidence)]
        agreement += rest.with_rest / len(questions)
        compared += [one.ratings for one in sums]
        for rater, (own, _, first) in enumerate(answers):
            use = quality.scale_use(
                own if first is None else first, width=question.size - 1, points=question.size
            )
            found[rater]["entropy"] = Measured(use.entropy, use.n)
            if first is not None:
                share = quality.rater_share(int(first.sum()), len(first))
                low, high = share.low or 0.0, share.high or 0.0
                ends = sorted(abs(2 * end - 1) for end in (low, high))
                ends[0] = 0.0 if low <= 0.5 <= high else ends[0]
                bias = quality.position_bias(share)
                found[rater]["position_bias"] = Measured(bias, share.n, (ends[0], ends[1]))
    for rater, row in enumerate(found):
        row["content"] = Measured(float(content[rater]), int(compared[rater]))
        row["agreement"] = Measured(float(agreement[rater]), int(compared[rater]))
        if checks is not None:
            met = checks[rater, : round(n_votes * CHECKS_PER_VOTE)]
            row["check_accuracy"] = Measured(float(met.mean()), len(met))
    return found


if __name__ == "__main__":
    main()
