"""Counters after exclusions and restorations, for any state of the tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from annotation.rating.rules.exclusions import (
    CountedJudgment,
    RaterCounterChange,
    TaskCounterChange,
    TaskPlaces,
    counter_changes,
)


def test_excluding_one_of_a_full_task_opens_one_place_and_restoring_into_one_makes_room():
    tasks, raters = counter_changes([CountedJudgment(1, 7)], {1: TaskPlaces(3, 0, 3)}, sign=-1)
    assert tasks == {1: TaskCounterChange(n_judgments=-1, overlap=0, order_balance=0)}
    assert raters == {7: RaterCounterChange(n_judgments=-1, n_tasks_filled=-1)}
    tasks, raters = counter_changes([CountedJudgment(1, 7)], {1: TaskPlaces(3, 0, 3)}, sign=1)
    assert tasks[1].overlap == 1
    assert raters == {7: RaterCounterChange(n_judgments=1, n_tasks_filled=0)}


def test_two_raters_leaving_one_full_task_unfill_it_once_and_give_their_orders_back():
    leaving = [CountedJudgment(1, 7, step=1), CountedJudgment(1, 8, step=1)]
    tasks, raters = counter_changes(leaving, {1: TaskPlaces(3, 0, 3)}, sign=-1)
    assert tasks[1].order_balance == -2
    assert sorted(move.n_tasks_filled for move in raters.values()) == [-1, 0]
    assert [move.n_judgments for move in raters.values()] == [-1, -1]


def test_unnamed_raters_are_counted_together():
    places = {1: TaskPlaces(1, 0, 1), 2: TaskPlaces(1, 0, 2)}
    _, raters = counter_changes([CountedJudgment(1, None), CountedJudgment(2, None)], places, sign=-1)
    assert raters == {None: RaterCounterChange(n_judgments=-2, n_tasks_filled=-1)}


@st.composite
def situations(draw):
    """Tasks with room for their judgments and leases, some of which are to move."""
    places, excludable, restorable = {}, [], []
    for task_id in range(draw(st.integers(1, 4))):
        overlap = draw(st.integers(1, 5))
        n_judgments = draw(st.integers(0, overlap))
        n_leases = draw(st.integers(0, overlap - n_judgments))
        places[task_id] = TaskPlaces(n_judgments, n_leases, overlap)
        excludable += [CountedJudgment(task_id, n) for n in range(draw(st.integers(0, n_judgments)))]
        restorable += [CountedJudgment(task_id, 10 + n) for n in range(draw(st.integers(0, 3)))]
    return places, excludable, restorable


def after(places, tasks):
    return {
        task_id: TaskPlaces(
            before.n_judgments + (tasks[task_id].n_judgments if task_id in tasks else 0),
            before.n_leases,
            before.overlap + (tasks[task_id].overlap if task_id in tasks else 0),
        )
        for task_id, before in places.items()
    }


def n_full(places):
    return sum(1 for p in places.values() if p.n_judgments >= p.overlap)


@given(situations())
def test_overlap_is_never_passed_nor_larger_than_needed_and_raters_fills_add_up(situation):
    places, excludable, restorable = situation
    for judgments, sign in ((excludable, -1), (restorable, 1)):
        tasks, raters = counter_changes(judgments, places, sign=sign)
        states = after(places, tasks)
        for task_id, state in states.items():
            assert 0 <= state.n_judgments <= state.overlap - state.n_leases
            grown = task_id in tasks and tasks[task_id].overlap > 0
            assert not grown or state.n_judgments + state.n_leases == state.overlap
        change = n_full(states) - n_full(places)
        assert sum(move.n_tasks_filled for move in raters.values()) == change
