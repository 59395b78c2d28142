"""How the loop runs: cases by rule and decision, time to a decision, returns, and what is judged anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from analytics import case_frames
from analytics.case_frames import Rejudging, Times
from annotation.models import ReviewCase, Study

UNDECIDED = "undecided"


@dataclass(frozen=True)
class RuleCases:
    """Cases that a rule is among the reasons of, by decision; `undecided` are open, claimed or returned."""

    rule: str
    n: int
    decisions: Mapping[str, int]


@dataclass(frozen=True)
class Flow:
    """`states`: cases not decided, by state; `decisions`: the decided ones. `returns`: to whom, by what came of it."""

    cases: int
    states: Mapping[str, int]
    decisions: Mapping[str, int]
    rules: tuple[RuleCases, ...]
    times: Times
    undone: int
    returns: Mapping[str, Mapping[str, int]]
    rejudging: Rejudging


def flow(study: Study) -> Flow:
    counted = case_frames.case_states(study)
    states: defaultdict[str, int] = defaultdict(int)
    decisions: defaultdict[str, int] = defaultdict(int)
    for state, decision, n in counted:
        if state == ReviewCase.State.RESOLVED:
            decisions[decision] += n
        else:
            states[state] += n
    return Flow(
        cases=sum(n for _, _, n in counted),
        states=dict(states),
        decisions=dict(decisions),
        rules=_rules(study),
        times=case_frames.times(study),
        undone=case_frames.n_undone(study),
        returns=_returns(study),
        rejudging=case_frames.rejudging(study),
    )


def _rules(study: Study) -> tuple[RuleCases, ...]:
    """The rule with the most cases first."""
    by_rule: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for rule, decision, n in case_frames.rule_decisions(study):
        by_rule[rule][decision or UNDECIDED] = n
    found = [RuleCases(rule, sum(decisions.values()), decisions) for rule, decisions in by_rule.items()]
    return tuple(sorted(found, key=lambda one: (-one.n, one.rule)))


def _returns(study: Study) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {"rater": {}, "pool": {}}
    for to_rater, state, n in case_frames.returns(study):
        found["rater" if to_rater else "pool"][state] = n
    return found
