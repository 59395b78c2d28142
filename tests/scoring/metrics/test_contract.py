"""Of a scorer's outputs, the one that stands for it."""

from __future__ import annotations

import pytest

from scoring.metrics.contract import usual_output


@pytest.mark.parametrize(
    ("outputs", "usual"),
    [
        (("entailment", "judge", "score", "similarity"), "score"),
        (("brief", "rubric", "spread", "value", "variance"), "value"),
        (("default", "heard", "mean", "spread"), "default"),
        (("heard", "mean", "spread"), "mean"),
        (("musicality",), "musicality"),
    ],
)
def test_one_output_stands_for_a_scorer(outputs: tuple[str, ...], usual: str) -> None:
    assert usual_output(outputs) == usual
