"""Which part of what people and scorers said goes where."""

from __future__ import annotations

from analytics.services.training_material import SYSTEMS, Material, parts, systems_held_out
from analytics.training_things import Judged
from scoring.training.contract import RatedAnswer

_PLAN = {"repeats": 1, "holdout_raters": 0, "split": SYSTEMS}


def judged(item: int, system: str, *, by: str) -> Judged:
    name = f"item {item}"
    thing = RatedAnswer(f"{name} {system} {by}", name, system, "an answer", ratings=(3.0,))
    return Judged(thing, item, (item,), {"": (by,)}, (name,))


def test_nothing_a_scorer_said_of_held_out_systems_or_of_what_is_chosen_by_is_learned_from():
    every = [(item, system) for item in range(20) for system in "abcd"]
    found = Material(
        "orca",
        [judged(item, system, by="R-1") for item, system in every],
        [judged(item, system, by="scorer") for item, system in every],
    )
    out = set(systems_held_out(found, seed=0))
    split = parts(found, _PLAN, seed=0)
    dev = {answer.group for answer in split.learning.dev}
    wanted = {(f"item {item}", system) for item, system in every if system not in out} - {
        (group, system) for group in dev for system in "abcd"
    }
    assert dev
    assert {(answer.group, answer.system) for answer in split.first} == wanted
    assert split.counts["first"] == len(wanted)
