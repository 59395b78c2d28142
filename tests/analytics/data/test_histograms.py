from __future__ import annotations

import pytest

from analytics.data.questions import MeasuredQuestion
from analytics.data.value_counts import histogram, histograms


def question(kind: str = "rating", points: tuple[float, ...] = ()) -> MeasuredQuestion:
    return MeasuredQuestion(
        study_id=1, key="q", title="", kind=kind, level="interval", points=points, width=None,
        per_candidate=False, one_candidate=True, ids=(1,), versions=(1,), other_versions=(),
    )  # fmt: skip


def test_every_point_of_the_scale_has_a_bar():
    rows = [({1.0: 2, 2.0: 0, 3.0: 1}, 4), ({1.0: 1, 2.0: 0, 3.0: 0}, 1)]
    assert histogram(question(points=(1.0, 2.0, 3.0)), rows) == [("1", 9), ("2", 0), ("3", 4)]


def test_preferences_are_shown_by_canonical_choice():
    rows = [({1.0: 1, 2.0: 2, 3.0: 0, 4.0: 1}, 2)]
    assert histogram(question("preference"), rows) == [
        ("first", 2),
        ("second", 4),
        ("tie", 0),
        ("both_bad", 2),
    ]


def test_few_values_of_a_free_scale_stand_alone():
    assert histogram(question(), [({0.5: 1, 71.25: 2}, 3)]) == [("0.5", 3), ("71.25", 6)]


def test_many_values_of_a_free_scale_are_binned_and_none_is_lost():
    bars = histogram(question(), [({float(value): 1}, 1) for value in range(101)])
    assert len(bars) == 10
    assert bars[0] == ("0 – 10", 10)
    assert bars[-1] == ("90 – 100", 11)


@pytest.mark.parametrize("kind", ["rating", "preference"])
def test_without_answers_all_bars_are_empty(kind):
    assert sum(n for _, n in histogram(question(kind), [])) == 0


def test_sets_of_ratings_share_their_bars():
    before, after = [({1.0: 1, 3.0: 1}, 2)], [({3.0: 2}, 1)]
    assert histograms(question(), [before, after]) == [("1", (2, 0)), ("3", (2, 2))]
    spread = [({float(value): 1 for value in range(20)}, 1)]
    assert [counts for _, counts in histograms(question(), [spread, after])] == [
        (2, 0), (2, 2), *[(2, 0)] * 8,
    ]  # fmt: skip
