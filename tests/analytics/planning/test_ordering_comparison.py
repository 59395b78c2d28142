"""What a comparison of orders says: that votes are saved, that they are not, or that nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analytics.planning.ordering_comparison import OrderingComparison, comparison_lines, comparison_verdict
from analytics.statistics.planning.ordering_simulation import MEASURES, SimulationSettings, VoteSaving
from annotation.rating.rules.ordering import Ordering

MIDDLE = VoteSaving(0.8, 400.0, 300.0, 0.25, (0.1, 0.4), None)


def comparison(middle: VoteSaving) -> OrderingComparison:
    rows = [replace(MIDDLE, accuracy=0.7), middle, replace(MIDDLE, accuracy=0.9)]
    return OrderingComparison(
        SimulationSettings(), Ordering(), replicates=5, seed=1, moments=[0], random={}, policy={},
        savings=dict.fromkeys(MEASURES, rows),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (MIDDLE, "saves votes (share of votes saved 25.0 %, 95 % interval 10.0 % to 40.0 %)."),
        (replace(MIDDLE, saved=-0.2, interval=(-0.3, -0.1)), "saves none, it costs more"),
        (replace(MIDDLE, saved=0.02, interval=(-0.1, 0.1)), "saves none that could be told from chance"),
        (replace(MIDDLE, saved=None, interval=None, reason="not_reached"), "did not reach this accuracy"),
    ],
)
def test_the_verdict_follows_the_interval(found: VoteSaving, said: str) -> None:
    assert said in comparison_verdict(comparison(found))
    assert "At 80.0 % of pairs told rightly" in comparison_verdict(comparison(found))


def test_the_table_has_a_row_for_each_measure_and_accuracy_and_ends_with_the_verdict() -> None:
    text = list(comparison_lines(comparison(MIDDLE)))
    assert len(text) == 2 + 3 * 3 + 1
    assert text[-1] == comparison_verdict(comparison(MIDDLE))
