"""What is kept of a training's curves when it is killed."""

from __future__ import annotations

from typing import Any

from analytics.training.run import StoredWatch

_NOTHING: Any = None


def test_a_training_that_begins_anew_tells_its_curves_anew(tmp_path):
    file = tmp_path / "curves.jsonl"
    killed = StoredWatch(_NOTHING, _NOTHING, file, number=1, of=2)
    for step in (10, 20):
        killed.log_metric("train loss", step, 0.5)
    again = StoredWatch(_NOTHING, _NOTHING, file, number=1, of=2)
    again.log_metric("train loss", 10, 0.25)
    assert StoredWatch(_NOTHING, _NOTHING, file, number=1, of=2).curves == {"train loss": [[10, 0.25]]}
