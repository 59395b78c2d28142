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


def test_excluding_one_of_a_full_task_opens_one_place():
    tasks, raters = counter_changes([CountedJudgment(1, 7)], {1: TaskPlaces(3, 0, 3)}, sign=-1)
    assert tasks == {1: TaskCounterChange(n_judgments=-1, overlap=0, order_balance=0)}
    assert raters == {7: RaterCounterChange(n_judgments=-1, n_tasks_filled=-1)}


def test_restoring_into_a_full_task_makes_room():
    tasks, raters = counter_changes([CountedJudgment(1, 7)], {1: TaskPlaces(3, 0, 3)}, sign=1)
    assert tasks[1].overlap == 1
    assert raters == {7: RaterCounterChange(n_judgments=1, n_tasks_filled=0)}


def test_two_raters_leaving_one_full_task_unfill_it_once():
    _, raters = counter_changes(
        [CountedJudgment(1, 7), CountedJudgment(1, 8)], {1: TaskPlaces(3, 0, 3)}, sign=-1
    )
    assert sorted(move.n_tasks_filled for move in raters.values()) == [-1, 0]
    assert [move.n_judgments for move in raters.values()] == [-1, -1]


def test_orders_are_given_back():
    tasks, _ = counter_changes(
        [CountedJudgment(1, 7, step=1), CountedJudgment(1, 8, step=1)], {1: TaskPlaces(3, 0, 3)}, sign=-1
    )
    assert tasks[1].order_balance == -2


def test_unnamed_raters_are_counted_together():
    _, raters = counter_changes(
        [CountedJudgment(1, None), CountedJudgment(2, None)],
        {1: TaskPlaces(1, 0, 1), 2: TaskPlaces(1, 0, 2)},
        sign=-1,
    )
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
def test_judgments_and_leases_never_pass_the_overlap(situation):
    places, excludable, restorable = situation
    for judgments, sign in ((excludable, -1), (restorable, 1)):
        tasks, _ = counter_changes(judgments, places, sign=sign)
        for state in after(places, tasks).values():
            assert 0 <= state.n_judgments <= state.overlap - state.n_leases


@given(situations())
def test_raters_fills_add_up_to_the_change_in_full_tasks(situation):
    places, excludable, restorable = situation
    for judgments, sign in ((excludable, -1), (restorable, 1)):
        tasks, raters = counter_changes(judgments, places, sign=sign)
        change = n_full(after(places, tasks)) - n_full(places)
        assert sum(move.n_tasks_filled for move in raters.values()) == change


@given(situations())
def test_overlap_grows_no_further_than_needed(situation):
    places, _, restorable = situation
    tasks, _ = counter_changes(restorable, places, sign=1)
    for task_id, move in tasks.items():
        state = after(places, tasks)[task_id]
        assert move.overlap == 0 or state.n_judgments + state.n_leases == state.overlap
